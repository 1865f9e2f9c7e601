// Command pod is the program of the tests' images: the process that holds the sandbox of a Pod, and
// an application that reads its configuration from files and from its environment. The first
// argument selects the part.
package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

const folder = "/etc/app"

func main() {
	part := ""
	if len(os.Args) > 1 {
		part = os.Args[1]
	}
	switch part {
	case "pause":
		pause()
	case "app":
		app()
	case "show":
		fmt.Println(configuration())
	default:
		fmt.Fprintln(os.Stderr, "select a part: pause, app or show")
		os.Exit(2)
	}
}

// pause waits for the end of the Pod. As process 1 it also reaps processes without a parent.
func pause() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}

// app logs the configuration that it was started with, and serves the configuration of each moment.
func app() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		os.Exit(0)
	}()
	fmt.Println(configuration())
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(answer, configuration())
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(":8080", nil))
	os.Exit(1)
}

// configuration is a JSON object: the content of each file below /etc/app by its path there, and the
// value of each variable by its name. Variables that every container has are left out.
func configuration() string {
	read := map[string]string{}
	walk(folder, read)
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if !isUsual(name) {
			read[name] = value
		}
	}
	text, err := json.Marshal(read)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func isUsual(variable string) bool {
	switch variable {
	case "PATH", "HOME", "HOSTNAME":
		return true
	}
	return strings.Contains(variable, "_SERVICE_") || strings.Contains(variable, "_PORT")
}

// walk reads the files of a folder. The kubelet's own entries of a volume begin with two dots.
func walk(path string, read map[string]string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return
	}
	for _, entry := range entries {
		inside := filepath.Join(path, entry.Name())
		if strings.HasPrefix(entry.Name(), "..") {
			continue
		}
		information, err := os.Stat(inside)
		if err != nil {
			continue
		}
		if information.Mode().Type() == fs.ModeDir {
			walk(inside, read)
			continue
		}
		text, err := os.ReadFile(inside)
		if err != nil {
			text = []byte(err.Error())
		}
		name, _ := filepath.Rel(folder, inside)
		read[name] = strings.TrimSpace(string(text))
	}
}
