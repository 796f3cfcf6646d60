import { once } from "node:events";
import { request } from "node:http";
import { expect, it } from "vitest";
import { type CliHome, openCliHome, type StartedCli } from "../support/belljar-cli.ts";

const isRoot = process.getuid?.() === 0;
const SERVER = `require("node:http").createServer((_, answer) => answer.end("hello")).listen(8000, "127.0.0.1", () => console.log("ready"))`;

interface Home extends CliHome {
  text(...argv: string[]): Promise<string>;
}

async function openHome(): Promise<Home> {
  const home = await openCliHome({ apart: true });
  return {
    ...home,
    async text(...argv) {
      const { code, stdout, stderr } = await home.run(argv);
      if (code !== 0) throw new Error(`belljar ${argv.join(" ")}: ${stderr}`);
      return stdout.trim();
    },
  };
}

const stateOf = async (home: Home, id: string): Promise<string> =>
  (JSON.parse(await home.text("sandbox", "info", id, "--json")) as { state: string }).state;

async function startServer(home: Home): Promise<{ readonly server: StartedCli; readonly url: string }> {
  const server = home.start(["serve", "--port", "0"]);
  const [, url = ""] = await server.says(/MCP at (\S+)\/mcp/);
  return { server, url };
}

/** Waits on the events of the home. */
async function untilPaused(home: Home, id: string): Promise<void> {
  for (;;) {
    await using events = home.start(["sandbox", "events", "--json"]);
    await events.firstOutput();
    if ((await stateOf(home, id)) === "paused") return;
    await events.prints(/"changed"/);
  }
}

async function ask(url: string, id: string): Promise<number | undefined> {
  const { port } = new URL(url);
  const asked = request(url, { headers: { host: `8000-${id}.localhost:${port}` } }).end();
  const [answer] = (await once(asked, "response")) as [{ statusCode?: number; resume(): void }];
  answer.resume();
  return answer.statusCode;
}

it.skipIf(!isRoot)(
  "an idle sandbox sleeps while no server lives, and a request to its port and the command line wake it (skipped for an ordinary user, who has no freezer)",
  async () => {
    await using home = await openHome();
    const id = await home.text("sandbox", "create", "--pause-idle", "1s");
    const first = await startServer(home);
    const inside = `mkfifo /tmp/said; setsid node -e '${SERVER}' >/tmp/said 2>/dev/null & head -n 1 /tmp/said`;
    await home.text("exec", id, "--", "sh", "-c", inside);
    await home.text("sandbox", "port", id, "8000", "--public");
    first.server.signal("SIGKILL");
    await first.server.exit;
    await untilPaused(home, id);

    const second = await startServer(home);
    await using _server = second.server;
    expect(await stateOf(home, id)).toBe("paused");
    expect(await ask(second.url, id)).toBe(200);

    await untilPaused(home, id);
    expect(await home.text("exec", id, "--", "echo", "awake")).toBe("awake");
  },
  120_000,
);

it.skipIf(!isRoot)(
  "a sandbox is paused and resumed from here and through a server (skipped for an ordinary user, who has no freezer)",
  async () => {
    await using home = await openHome();
    const { server, url } = await startServer(home);
    await using _server = server;
    const remote = { env: { BELLJAR_URL: url } };
    const id = await home.text("sandbox", "create");
    await home.text("sandbox", "pause", id);
    expect(await stateOf(home, id)).toBe("paused");
    expect((await home.run(["exec", id, "--", "echo", "from afar"], remote)).stdout).toBe("from afar\n");
    expect(await stateOf(home, id)).toBe("running");
    expect((await home.run(["sandbox", "pause", id], remote)).code).toBe(0);
    expect(await home.text("sandbox", "stats", id, "--json")).toContain('"memoryAwakeBytes"');
    expect((await home.run(["sandbox", "resume", id], remote)).code).toBe(0);
    expect(await stateOf(home, id)).toBe("running");
  },
  60_000,
);
