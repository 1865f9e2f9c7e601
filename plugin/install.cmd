@echo off
rem The same as `install`, for Windows. Tested with the cmd.exe of Wine 10, not on Windows.
setlocal
rem An empty entry of PYTHONPATH would make Python load modules of the working directory.
set "PYTHONPATH="
rem Do not run a program in the working directory. With -I, Python imports no module of this directory.
set "NoDefaultCurrentDirectoryInExePath=1"
set "folder=%~dp0.."
set "venv=%folder%\.plugin\venv"
set "step="
set "check=import sys; sys.exit(sys.version_info < (3, 10))"
call :restore
if exist "%venv%" move "%venv%" "%venv%.old" > nul || goto failed
call :try py -3 && goto done
call :try python && goto done
if not exist "%venv%.old" if exist "%folder%\.plugin" rmdir /s /q "%folder%\.plugin"
call :restore
if defined step goto failed
echo error: postrender needs Python 3.10 or later, and PATH has none. Install Python, then run "%~f0" 1>&2
exit /b 1

:done
if exist "%venv%.old" rmdir /s /q "%venv%.old"
exit /b 0

:failed
echo error: postrender was not installed, for the reason above. Give pip access to PyPI or a mirror (PIP_INDEX_URL), or install another Python, then run "%~f0" 1>&2
exit /b 1

rem `call` returns from a batch file, such as the python.bat of pyenv.
:try
call %* -I -c "%check%" 2> nul || exit /b 1
set "step=install"
if exist "%venv%" rmdir /s /q "%venv%"
call %* -I -m venv "%venv%" || exit /b 1
"%venv%\Scripts\python.exe" -I -m pip install --quiet --disable-pip-version-check --require-hashes --requirement "%folder%\plugin\requirements.txt" --requirement "%folder%\plugin\build-requirements.txt" || exit /b 1
"%venv%\Scripts\python.exe" -I -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation "%folder%" || exit /b 1
"%venv%\Scripts\postrender.exe" --version > nul || exit /b 1
exit /b 0

rem Put the earlier installation back after a failure.
:restore
if not exist "%venv%.old" exit /b 0
if exist "%venv%" rmdir /s /q "%venv%"
move "%venv%.old" "%venv%" > nul
exit /b 0
