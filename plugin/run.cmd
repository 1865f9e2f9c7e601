@echo off
rem The same as `run`, for Windows: the stderr of postrender goes to the log. Untested.
setlocal
set "folder=%~dp0.."
set "program=%folder%\.plugin\venv\Scripts\postrender.exe"
if not exist "%program%" set "program=postrender"

rem The folder that `helm env HELM_CACHE_HOME` prints.
set "cache=%HELM_CACHE_HOME%"
if not defined cache if defined XDG_CACHE_HOME set "cache=%XDG_CACHE_HOME%\helm"
if not defined cache set "cache=%TEMP%\helm"
if not exist "%cache%" mkdir "%cache%"
set "log=%cache%\postrender.log"
if exist "%log%" for %%f in ("%log%") do if %%~zf gtr 1000000 move /y "%log%" "%log%.old" > nul

>> "%log%" echo == %date% %time% in %cd%
"%program%" %* 2>> "%log%"
exit /b %errorlevel%
