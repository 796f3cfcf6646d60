import * as z from "zod";
import { choices, flag, integer, names } from "./config-fields.ts";

/** Sandboxes that wait for their owners. */
export function poolSchema() {
  const count = () => integer(0, 64).optional();
  return z
    .strictObject({
      sandboxes: count().describe(
        "Number of sandboxes with the limits of `sandbox` that wait ready for their owners. Default: 2 for `serve`, 0 for `mcp`",
      ),
      programs: count().describe("Number of sandboxes that wait ready for one-shot programs. Default: 2 for `serve`, 1 for `mcp`"),
      packages: count().describe(
        "Number of sets of packages of users' tools of which sandboxes wait ready, for five minutes after a call: two of each for `serve`, one for `mcp`. Of more sets those called last count. Default: 4 for `serve`, 1 for `mcp`",
      ),
      languages: choices("python", "javascript")
        .default(["python"])
        .describe(
          "Languages whose contexts are started in sandboxes that wait: python, javascript. Each takes memory, JavaScript several times that of Python",
        ),
      browser: flag()
        .optional()
        .describe(
          "Whether the driver of a browser waits in those sandboxes, once it has started the browser and ended it: the first page comes a fifth sooner, and each takes some 45 MB more. Default: where `toolsets` names `browser` or `browser-ii`",
        ),
      imports: names()
        .default(["collections", "csv", "datetime", "hashlib", "io", "itertools", "json", "math", "pathlib", "random", "re", "statistics"])
        .describe("Modules that a waiting Python has already imported. Those that the template lacks are left out"),
    })
    .prefault({});
}
