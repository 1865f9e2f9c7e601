@echo off
rem The same as `run`, for Windows. Tested with the cmd.exe of Wine 10, not on Windows.
rem Helm discards the stderr of this script, so the messages of postrender go to a log.
setlocal
rem An empty entry of PYTHONPATH would make Python load modules of the working directory.
set "PYTHONPATH="
set "program=%~dp0..\.plugin\venv\Scripts\postrender.exe"
rem The folder that `helm env HELM_CACHE_HOME` prints.
set "cache=%HELM_CACHE_HOME%"
if not defined cache if defined XDG_CACHE_HOME set "cache=%XDG_CACHE_HOME%\helm"
if not defined cache set "cache=%TEMP%\helm"
set "log=%cache%\postrender.log"

rem A second run cannot open a file while the first run writes to the file. Each run has its own file.
set "attempt=0"
:new_folder
set /a attempt+=1
set "work=%cache%\postrender-%random%-%random%"
set "messages=%work%\messages"
mkdir "%work%" 2> nul && goto run
if %attempt% lss 9 goto new_folder
set "messages=nul"

:run
2> "%messages%" "%program%" %*
set "status=%errorlevel%"
if "%status%" == "0" goto report
"%program%" --version > nul 2>&1 && goto report
>> "%messages%" echo error: "%program%" does not start: the file or its Python is missing. Run "%~dp0install.cmd"

:report
for %%f in ("%messages%") do if "%status% %%~zf" == "0 0" goto end
type "%messages%" 1>&2
if exist "%log%" for %%f in ("%log%") do if %%~zf gtr 1000000 move /y "%log%" "%log%.old" > nul
>> "%log%" echo == %date% %time% exit %status% in "%cd%": postrender %*
>> "%log%" type "%messages%"

:end
if exist "%work%" rmdir /s /q "%work%"
exit /b %status%
