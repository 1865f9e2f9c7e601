// Command argocd is the parts of Argo CD that applications need, and a Redis for these parts, in one
// binary. The first argument selects the part.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	applicationset "github.com/argoproj/argo-cd/v3/cmd/argocd-applicationset-controller/commands"
	cmpserver "github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	commitserver "github.com/argoproj/argo-cd/v3/cmd/argocd-commit-server/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	plugin "github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/util/cmp"
	"github.com/spf13/cobra"
)

func main() {
	if len(os.Args) < 2 {
		fail("select a part: application-controller, applicationset-controller, " +
			"cmp-server, commit-server, repo-server, redis or announcements")
	}
	part := os.Args[1]
	os.Args = append(os.Args[:1], os.Args[2:]...)
	switch part {
	case "application-controller":
		run(controller.NewCommand())
	case "applicationset-controller":
		run(applicationset.NewCommand())
	case "cmp-server":
		run(cmpserver.NewCommand())
	case "commit-server":
		run(commitserver.NewCommand())
	case "repo-server":
		run(reposerver.NewCommand())
	case "announcements":
		announcements(os.Args[1:])
	case "redis":
		redis(os.Args[1:])
	default:
		fail("no such part: " + part)
	}
}

func run(command *cobra.Command) {
	if err := command.Execute(); err != nil {
		os.Exit(1)
	}
}

// redis serves the requests of Argo CD to a Redis at the given address, from memory, until it is killed.
func redis(args []string) {
	if len(args) != 1 {
		fail("pass the address to listen on: redis 127.0.0.1:6379")
	}
	server := miniredis.NewMiniRedis()
	check(server.StartAddr(args[0]))
	// The clock of miniredis does not advance without these calls.
	for range time.Tick(time.Second) {
		server.FastForward(time.Second)
	}
}

// announcements prints, as JSON, the parameters that the plugin behind a socket reports for an
// application's folder. The request is that of the repo-server when the UI opens the Parameters tab.
func announcements(args []string) {
	if len(args) != 2 {
		fail("pass the socket of the plugin and the folder to render: announcements SOCKET FOLDER")
	}
	ctx := context.Background()
	connection, client, err := plugin.NewConfigManagementPluginClientSet(args[0]).
		NewConfigManagementPluginClient()
	check(err)
	defer connection.Close()
	stream, err := client.GetParametersAnnouncement(ctx)
	check(err)
	check(cmp.SendRepoStream(ctx, args[1], args[1], stream, nil, nil))
	answer, err := stream.CloseAndRecv()
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(answer.ParameterAnnouncements))
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}
