import { expect } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";
import { verifies } from "./verifies.ts";

const TRIES = 20;

verifies(
  "audit-bounded",
  async () => {
    await using cli = await openCliHome({ apart: true });
    await using server = cli.start(["serve", "--port", "0"]);
    const [, url = ""] = await server.says(/MCP at (\S+)\/mcp/);
    const remote = { env: { BELLJAR_URL: url } };
    const id = (await cli.run(["sandbox", "create", "--network", "example.com"], remote)).stdout.trim();
    const loop = `for i in $(seq ${TRIES}); do curl -s -o /dev/null http://198.51.100.1/; done; echo done`;
    expect(await cli.run(["exec", id, "--", "sh", "-c", loop], remote)).toMatchObject({ stdout: "done\n" });
    // The second signal ends the process at once, as the first does when a sandbox does not answer.
    server.signal("SIGTERM");
    server.signal("SIGINT");
    expect([130, 143]).toContain((await server.exit).code);
    const { stdout } = await cli.run(["audit", "tail", "-n", "100", "--json"]);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const refused = lines.filter(({ host, verdict }) => host === "198.51.100.1" && verdict === "refused");
    expect(
      refused.reduce((sum, { count = 1 }) => sum + Number(count), 0),
      "what was only counted is written",
    ).toBe(TRIES);
    expect(await cli.run(["audit", "verify"])).toMatchObject({ code: 0 });
  },
  120_000,
);
