import type { CliHome } from "./belljar-cli.ts";

/** `belljar serve` on the home; `env` is how the CLI reaches it. Disposing it ends the server. `argv` may name another port than a free one. */
export async function serveHome(cli: CliHome, argv: readonly string[] = [], environment: Readonly<Record<string, string>> = {}) {
  const server = cli.start(["serve", ...(argv.includes("--port") ? [] : ["--port", "0"]), ...argv], { env: environment });
  const [, url = ""] = await server.says(/(http:\/\/\S+)\/mcp\b/);
  return {
    url,
    env: { BELLJAR_URL: url },
    /** As when its process is killed. */
    async kill() {
      server.signal("SIGKILL");
      await server.exit;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
