// The build uses the file of a version instead: `go build -modfile=VERSION.mod`.
module example.com/postrender/controlplane/flux
