import type { CliHome } from "./belljar-cli.ts";
import { openCliHome } from "./belljar-cli.ts";
import { removeMade } from "./remove-made.ts";
import { serveHome } from "./serve-home.ts";

/** `belljar serve` on a home of its own, and a key that opens E2B's surfaces of it. */
export interface E2bLab extends AsyncDisposable {
  readonly cli: CliHome;
  readonly url: string;
  readonly key: string;
  /** What every call of the SDKs takes. Short deadlines: a test that waits for a minute is a failed one. */
  readonly options: { readonly apiKey: string; readonly apiUrl: string; readonly sandboxUrl: string };
  /** One more key, of another principal unless it is of the same name. */
  makeKey(name: string, scopes?: readonly string[]): Promise<string>;
  /** Asks as no SDK would. The headers are those alone that are given. */
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** With the key. */
  askAsOwner(path: string, init?: RequestInit): Promise<Response>;
  /** Kills the server (SIGKILL) and starts another one on the same home and port. */
  restart(): Promise<void>;
}

export interface E2bLabOptions {
  /** Of `belljar serve`. */
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export async function openE2bLab({ argv = [], env = {} }: E2bLabOptions = {}): Promise<E2bLab> {
  const cli = await openCliHome();
  const names = new Set<string>();
  const makeKey = async (name: string, scopes: readonly string[] = []): Promise<string> => {
    const all = ["surface:e2b", ...scopes].flatMap((scope) => ["--scope", scope]);
    const { code, stdout, stderr } = await cli.run(["token", "create", name, ...all]);
    if (code !== 0) throw new Error(`No key was made: ${stderr}`);
    names.add(name);
    return stdout.trim();
  };
  const key = await makeKey("agent");
  let server = await serveHome(cli, argv, env);
  const { url } = server;
  const ask = (path: string, init?: RequestInit): Promise<Response> => fetch(url + path, init);
  const lab = {
    cli,
    url,
    key,
    options: { apiKey: key, apiUrl: url, sandboxUrl: url },
    makeKey,
    ask,
    askAsOwner: (path, { headers, ...init } = {}) => {
      const sent = new Headers(headers);
      sent.set("x-api-key", key);
      if (init.body !== undefined && !sent.has("content-type")) sent.set("content-type", "application/json");
      return ask(path, { ...init, headers: sent });
    },
    async restart() {
      await server.kill();
      server = await serveHome(cli, [...argv, "--port", new URL(url).port], env);
    },
    async [Symbol.asyncDispose]() {
      for (const name of names) await removeMade(lab.cli, url, name);
      await server[Symbol.asyncDispose]();
      await cli[Symbol.asyncDispose]();
    },
  } satisfies E2bLab;
  return lab;
}
