module example.com/postrender/controlplane/pod

go 1.25.0
