import { INSIDE } from "../../sandbox/sandbox.ts";

/** For the model; hosts cut it at 2 KB. */
export const INSTRUCTIONS = [
  "Belljar gives you a computer: an isolated Linux sandbox with files, a shell and programming languages.",
  "Every tool works on your own default sandbox, which is made on first use and keeps its files between calls.",
  `Relative paths start at the workspace, ${INSIDE.userHome}. What a sandbox may reach on the network is decided for it: often nothing.`,
  "Use run_command for shell commands, run_background for servers, execute_code for a one-shot program in a sandbox of its own.",
  "Where search_tools is listed, there are more tools than your list shows: find one with it, then run it with call_tool.",
  "A result that was cut names a resource, belljar://results/..., that holds the rest.",
].join("\n");
