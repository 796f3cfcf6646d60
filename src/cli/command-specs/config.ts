import type { CommandSpec } from "../command.ts";
import { ONE } from "./shared-options.ts";

/** `belljar config ...`: the file with the settings. */
export const CONFIG: readonly CommandSpec[] = [
  {
    name: "config import",
    summary: "Read the isolator_config.json of isolator-mcp, and print the same configuration for Belljar",
    usage: "FILE",
    positionals: ONE,
    options: {
      write: { type: "boolean", description: "Write it to config.json in the home, in place of printing it" },
      force: { type: "boolean", description: "With --write: replace a config.json that is there" },
    },
    details:
      "Limits, network, the folder of snippets and the image of each language are taken over. On stderr stands what became of each setting, which have no counterpart, and the commands that make templates of the images. A file with a wrong value is refused as a whole.",
    load: () => import("../commands/config-import.ts"),
  },
];
