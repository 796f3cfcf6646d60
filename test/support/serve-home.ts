import type { CliHome } from "./belljar-cli.ts";

/** `belljar serve` on the home; `env` is how the CLI reaches it. Disposing it ends the server. */
export async function serveHome(cli: CliHome, argv: readonly string[] = []) {
  const server = cli.start(["serve", "--port", "0", ...argv]);
  const [, url = ""] = await server.says(/(http:\/\/\S+)\/mcp\b/);
  return { url, env: { BELLJAR_URL: url }, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
