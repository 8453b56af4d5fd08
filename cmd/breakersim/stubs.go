package main

import "github.com/spf13/cobra"

func newReplay(s streams) *cobra.Command { return &cobra.Command{Use: "replay"} }
