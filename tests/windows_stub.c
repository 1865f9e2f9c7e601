#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static const char *value(const char *name, const char *other) {
    const char *text = getenv(name);
    return text ? text : other;
}

int main(int argc, char **argv) {
    char self[2000];
    GetModuleFileNameA(NULL, self, sizeof self);
    if (strstr(self, "py.exe") || strstr(self, "python.exe")) {
        FILE *calls = fopen(value("STUB_CALLS", "nul"), "a");
        fprintf(calls, "%s", strrchr(self, '\\') + 1);
        for (int i = 1; i < argc; i++) fprintf(calls, " [%s]", argv[i]);
        fprintf(calls, "\n");
        fclose(calls);
        int shift = argc > 1 && !strcmp(argv[1], "-3");
        shift += argc > shift + 1 && !strcmp(argv[shift + 1], "-I");
        argv += shift; argc -= shift;
        if (argc > 1 && !strcmp(argv[1], "-c")) return atoi(value("STUB_CHECK", "0"));
        if (argc > 3 && !strcmp(argv[2], "venv")) {
            char path[2000];
            strcpy(path, argv[argc - 1]);
            for (char *at = path + 3; *at; at++)
                if (*at == '\\') { *at = 0; CreateDirectoryA(path, NULL); *at = '\\'; }
            CreateDirectoryA(path, NULL);
            strcat(path, "\\Scripts");
            CreateDirectoryA(path, NULL);
            char *end = path + strlen(path);
            strcpy(end, "\\python.exe");
            if (!CopyFileA(self, path, FALSE)) { fprintf(stderr, "cannot write %s\n", path); return 1; }
            strcpy(end, "\\postrender.exe");
            CopyFileA(self, path, FALSE);
            return 0;
        }
        if (argc > 2 && !strcmp(argv[2], "pip")) {
            int code = atoi(value("STUB_PIP", "0"));
            if (code) fprintf(stderr, "pip fails\n");
            return code;
        }
        return 99;
    }
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("postrender %s\n", value("STUB_VERSION", "0.1.0"));
        return atoi(value("STUB_START", "0"));
    }
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
    static char buffer[65536];
    size_t count;
    while ((count = fread(buffer, 1, sizeof buffer, stdin)) > 0) fwrite(buffer, 1, count, stdout);
    if (strcmp(value("STUB_QUIET", ""), "1")) {
        fprintf(stderr, "message of %s", self);
        for (int i = 1; i < argc; i++) fprintf(stderr, " [%s]", argv[i]);
        fprintf(stderr, "\n");
    }
    Sleep(atoi(value("STUB_SLEEP", "0")));
    return atoi(value("STUB_EXIT", "0"));
}
