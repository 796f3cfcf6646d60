import { equal, ok } from "node:assert/strict";
import { isForPort, parsePortTarget } from "../../../src/network/ports/port-target.ts";
import { TOKEN_PARAMETER } from "../../../src/network/ports/port-urls.ts";
import { pureTarget } from "../fuzz-target.ts";
import { refused } from "./refused.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";

/** A line of the request, and a Host. What is read as a port names a sandbox and a port, and its path stays below it. */
export const portTarget = pureTarget({
  seeds: [`/x?y=1\n8000-${ID}.localhost:6060`, `/ports/${ID}/8000/a?b\nlocalhost`, `/ports/${ID}/8000/~${"t".repeat(43)}/\nlocalhost:1`],
  words: ["/ports/", ID, ".localhost", "~", "%2f", "..", `${TOKEN_PARAMETER}=`, "//", "\r", "@"],
  run(input) {
    const [url = "", host = ""] = input.toString("latin1").split("\n", 2);
    const request = { url, headers: { host }, rawHeaders: ["Host", host] };
    const isPort = isForPort(request);
    refused(() => {
      const target = parsePortTarget(request);
      ok(isPort, "read as a port although it is not for one");
      equal(/^[a-z0-9]{20}$/.test(target.sandbox), true);
      ok(target.port >= 1 && target.port <= 65_535);
      // In path style the address may end with the port: the router sends the browser on to the slash.
      ok(target.path.startsWith("/") || (target.style === "path" && /^(?:$|\?)/.test(target.path)));
      const query = target.path.split("?").slice(1).join("?").split("&");
      ok(!query.some((part) => part.startsWith(`${TOKEN_PARAMETER}=`)));
    });
  },
});
