@echo off
rem The same as `install`, for Windows. Tested with the cmd.exe of Wine 10, not on Windows.
setlocal
rem Do not run a program in the working directory. With -I, Python imports no module of this directory.
set "NoDefaultCurrentDirectoryInExePath=1"
set "folder=%~dp0.."
set "venv=%folder%\.plugin\venv"
set "version="
set "found="
set "python="
for /f "usebackq tokens=1,2" %%a in ("%folder%\plugin.yaml") do if "%%a" == "version:" set "version=%%b"
for /f "tokens=3" %%v in ('postrender.exe --version 2^> nul') do set "found=%%v"
if not "%found%" == "%version%" goto find_python
if exist "%folder%\.plugin" rmdir /s /q "%folder%\.plugin"
echo postrender %version% is on PATH: the plugin uses it
exit /b 0

:find_python
rem `call` returns from a batch file, such as the python.bat of pyenv.
set "check=import sys; sys.exit(sys.version_info < (3, 10))"
call python -I -c "%check%" 2> nul && set "python=python"
call py -3 -I -c "%check%" 2> nul && set "python=py -3"
if defined python goto install
echo error: postrender needs Python 3.10 or later, and PATH has none. Install Python, or put postrender %version% on PATH, then run "%~f0" 1>&2
exit /b 1

:install
call :restore
if exist "%venv%" move "%venv%" "%venv%.old" > nul || goto failed
call %python% -I -m venv "%venv%" || goto undo
"%venv%\Scripts\python.exe" -I -m pip install --quiet --disable-pip-version-check --require-hashes --requirement "%folder%\plugin\requirements.txt" --requirement "%folder%\plugin\build-requirements.txt" || goto undo
"%venv%\Scripts\python.exe" -I -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation "%folder%" || goto undo
"%venv%\Scripts\postrender.exe" --version > nul || goto undo
if exist "%venv%.old" rmdir /s /q "%venv%.old"
exit /b 0

:undo
if not exist "%venv%.old" rmdir /s /q "%folder%\.plugin"
call :restore
:failed
echo error: postrender was not installed, for the reason above. Give pip access to PyPI or a mirror (PIP_INDEX_URL), or put postrender %version% on PATH, then run "%~f0" 1>&2
exit /b 1

rem Put the earlier installation back after a failure.
:restore
if not exist "%venv%.old" exit /b 0
if exist "%venv%" rmdir /s /q "%venv%"
move "%venv%.old" "%venv%" > nul
exit /b 0
