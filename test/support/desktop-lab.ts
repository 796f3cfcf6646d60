import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { openCliHome } from "./belljar-cli.ts";
import { removeMade } from "./remove-made.ts";
import { serveHome } from "./serve-home.ts";

export interface DesktopStarted {
  readonly display: string;
  readonly width: number;
  readonly height: number;
  readonly started: boolean;
  readonly view_url: string;
  readonly control_url: string;
  readonly path_urls: { readonly view: string; readonly control: string };
}

interface Used {
  readonly text: string;
  readonly data: unknown;
  readonly picture?: Buffer;
  readonly isError: boolean;
}

/** A model's client at a real server, whose default sandbox may have a desktop. */
export interface DesktopLab extends AsyncDisposable {
  /** Stops the sandbox, which keeps its files. */
  stop(): Promise<void>;
  use(name: string, args?: object, signal?: AbortSignal): Promise<Used>;
  start(args?: object): Promise<DesktopStarted>;
  /** The output of a command. */
  command(text: string): Promise<string>;
  /** Opens a terminal at the top left, which shows nothing and keeps what it is sent: keys, and the mouse as escape sequences. */
  openRecorder(): Promise<void>;
  /** What the recorder was sent, once that has the text in it. Control characters are shown as of `cat -v`. */
  recorded(text: string): Promise<string>;
}

/** The last line of a command's result. */
const FACTS = /\n?\[exit_code: [^\]]*\]$/;
const NAME = "desktop-model";
/**
 * A terminal's program that keeps what the terminal is sent, the mouse as escape sequences. The first of it is the terminal's answer that it
 * tells of the mouse from now on.
 */
export const RECORD = String.raw`stty raw -echo; printf "\033[?1003h\033[?1006h\033[?1006\044p"; cat > /tmp/recorded`;
export const RECORDS = "grep -qs 1006 /tmp/recorded";

/** The address of a page's WebSocket, as noVNC makes it. */
export function toSocket(page: string): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  const { hostname, port, searchParams } = new URL(page);
  const headers = { host: `${hostname}:${port}` };
  const address = new URL(searchParams.get("path") ?? "", `ws://127.0.0.1:${port}/`);
  address.searchParams.set("belljar_token", searchParams.get("belljar_token") ?? "");
  return { url: address.href, headers };
}

export async function openDesktopLab(): Promise<DesktopLab> {
  const cli = await openCliHome();
  const server = await serveHome(cli, ["--pids", "300"]);
  const scopes = ["toolset:desktop", "toolset:shell"].flatMap((scope) => ["--scope", scope]);
  const { stdout } = await cli.run(["token", "create", NAME, ...scopes]);
  const client = new Client({ name: "test", version: "1" });
  const headers = { authorization: `Bearer ${stdout.trim()}` };
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", server.url), { requestInit: { headers } }));
  const use = async (name: string, args: object = {}, signal?: AbortSignal): Promise<Used> => {
    const asked = { name, arguments: { ...args } };
    const { content, structuredContent: data, isError } = await client.callTool(asked, { timeout: 60_000, ...(signal && { signal }) });
    const parts = content as { type: string; text?: string; data?: string }[];
    const picture = parts.find(({ type }) => type === "image")?.data;
    const text = parts.flatMap((part) => part.text ?? []).join("\n");
    return { text, data, isError: isError === true, ...(picture !== undefined && { picture: Buffer.from(picture, "base64") }) };
  };
  const command = async (text: string): Promise<string> => (await use("run_command", { command: text })).text.replace(FACTS, "");
  const start = async (args?: object): Promise<DesktopStarted> => {
    const { text, data, isError } = await use("desktop_start", args);
    if (isError) throw new Error(text);
    return data as DesktopStarted;
  };
  return {
    use,
    command,
    start,
    async stop() {
      const [, id = ""] = /-(\w{20})\./.exec((await start()).view_url) ?? [];
      const all = (await cli.run(["token", "create", NAME])).stdout.trim();
      const stopped = await fetch(`${server.url}/v1/sandboxes/${id}/stop`, { method: "POST", headers: { authorization: `Bearer ${all}` } });
      if (!stopped.ok) throw new Error(await stopped.text());
    },
    async openRecorder() {
      const xterm = `xterm -geometry 80x24+0+0 -e sh -c '${RECORD}'`;
      await use("run_background", { command: xterm, env: { DISPLAY: ":99" } });
      await command(`until ${RECORDS} && DISPLAY=:99 xdotool search --onlyvisible --class xterm; do sleep 0.05; done`);
    },
    recorded: (text) => command(`until cat -v /tmp/recorded | grep -qF -- '${text}'; do sleep 0.05; done; cat -v /tmp/recorded`),
    async [Symbol.asyncDispose]() {
      await client.close();
      await removeMade(cli, server.url, NAME);
      await server[Symbol.asyncDispose]();
      await cli[Symbol.asyncDispose]();
    },
  };
}
