@echo off
rem The same as `install`, for Windows. Untested.
setlocal
set "folder=%~dp0.."
for /f "tokens=2" %%v in ('findstr /b "version:" "%folder%\plugin.yaml"') do set "version=%%v"
for /f "tokens=3" %%v in ('postrender --version 2^> nul') do set "found=%%v"
if "%found%" == "%version%" (
  if exist "%folder%\.plugin" rmdir /s /q "%folder%\.plugin"
  echo postrender %version% is on PATH: the plugin uses it
  exit /b 0
)

set "check=import sys; sys.exit(sys.version_info < (3, 10))"
set "python="
python -c "%check%" 2> nul && set "python=python"
py -3 -c "%check%" 2> nul && set "python=py -3"
if not defined python (
  echo error: postrender needs Python 3.10 or later, and PATH has none. Install Python, or put postrender %version% on PATH, then run %~f0 1>&2
  exit /b 1
)
set "pip="%folder%\.plugin\venv\Scripts\python.exe" -m pip install --quiet --disable-pip-version-check""
%python% -m venv --clear "%folder%\.plugin\venv" && %pip% --require-hashes --requirement "%folder%\plugin\requirements.txt" --requirement "%folder%\plugin\build-requirements.txt" && %pip% --no-index --no-deps --no-build-isolation "%folder%"
if errorlevel 1 (
  rmdir /s /q "%folder%\.plugin"
  echo error: postrender was not installed, for the reason above. Give pip access to PyPI or a mirror, PIP_INDEX_URL, or put postrender %version% on PATH, then run %~f0 1>&2
  exit /b 1
)
