import type { HostileCase, HostileLab } from "./hostile-lab.ts";
import { HOSTILE_TEXTS, toAscii } from "./hostile-texts.ts";
import { RawJson, toJson } from "./hostile-values.ts";

const REVISION = "2025-11-25";
const ACCEPT = { "content-type": "application/json", accept: "application/json, text/event-stream" };
/** What is asked for an address is a whole request's length at most, and a name a few characters. */
const URI_LENGTH = 8_000;

/** One session of an MCP client that says what no client says. */
export interface McpSession {
  ask(method: string, params: unknown, signal: AbortSignal): Promise<McpAnswer>;
}

interface McpAnswer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
}

export async function openMcpSession({ server }: Pick<HostileLab, "server">): Promise<McpSession> {
  const post = (body: string, headers: object, signal: AbortSignal): Promise<Response> =>
    fetch(`${server.url}/mcp`, { method: "POST", headers: { ...ACCEPT, ...headers }, body, signal });
  const open = async (signal: AbortSignal): Promise<object> => {
    const params = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: "hostile", version: "1" } };
    const response = await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }), {}, signal);
    await response.text();
    return { "mcp-session-id": response.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": REVISION };
  };
  let session = await open(AbortSignal.timeout(60_000));
  let asked = 1;
  return {
    async ask(method, params, signal) {
      const body = toJson({ jsonrpc: "2.0", id: (asked += 1), method, params });
      const response = await post(body, session, signal);
      // A server that was replaced knows no session of the one before.
      if (response.status === 404) session = await open(signal);
      return readAnswer(await response.text());
    },
  };
}

/** An answer is JSON, or the data of one event. */
function readAnswer(text: string): McpAnswer {
  const start = text.startsWith("{") ? 0 : text.indexOf("data: {") + 6;
  return JSON.parse(text.slice(start).split("\n", 1)[0] ?? "") as McpAnswer;
}

interface Listed {
  readonly resources: readonly { readonly uri: string }[];
  readonly resourceTemplates: readonly { readonly uriTemplate: string }[];
  readonly prompts: readonly { readonly name: string; readonly arguments?: readonly { readonly name: string }[] }[];
}

/** Every resource, template, prompt and completion that the server lists, and its methods with what no schema foresees. */
export async function* mcpCases({ known }: HostileLab, session: McpSession): AsyncGenerator<HostileCase> {
  const { resources, resourceTemplates, prompts } = await list(session);
  const to = (method: string, what: string, make: () => unknown): HostileCase => ({
    what: `${method} ${what}`,
    run: (signal) => session.ask(method, make(), signal),
  });
  const uris = [...resources.map(({ uri }) => uri), ...resourceTemplates.flatMap(({ uriTemplate }) => expand(uriTemplate, known))];
  for (const uri of uris) {
    for (const method of ["resources/read", "resources/subscribe"]) yield to(method, uri.slice(0, 80), () => ({ uri }));
  }
  const refs = [
    ...resourceTemplates.map(({ uriTemplate: uri }) => ({ ref: { type: "ref/resource", uri }, names: variablesOf(uri) })),
    ...prompts.map(({ name, arguments: args = [] }) => ({ ref: { type: "ref/prompt", name }, names: args.map((one) => one.name) })),
  ];
  const context = { arguments: { id: String(known.values["sandbox"]) } };
  const typed = [...known.files.map((path) => [path, () => path] as const), ...Object.entries(HOSTILE_TEXTS)];
  for (const { ref, names } of refs) {
    for (const name of names) {
      for (const [what, make] of known.share(typed)) {
        yield to("completion/complete", `${name} of ${what.slice(0, 80)}`, () => ({ ref, argument: { name, value: make() }, context }));
      }
    }
  }
  for (const { name, arguments: args = [] } of prompts) {
    const filled = (text: string) => Object.fromEntries(args.map((one) => [one.name, text.slice(0, text.length / args.length)]));
    for (const [what, make] of known.share(Object.entries(HOSTILE_TEXTS))) {
      yield to("prompts/get", `${name} with ${what}`, () => ({ name, arguments: filled(make()) }));
    }
  }
  for (const method of METHODS) for (const [what, make] of ODD_PARAMS) yield to(method, what, make);
}

/** Of the protocol; those that this server does not have are refused, which may cost nothing either. */
const METHODS = [
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/read",
  "resources/templates/list",
  "resources/subscribe",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "no/such/method",
];

const TEXT = "a".repeat(3_000_000);
const keys = (count: number, value: unknown) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));
const ODD_PARAMS: readonly (readonly [what: string, make: () => unknown])[] = [
  ["with a cursor of 3 MB", () => ({ cursor: TEXT })],
  ["with a name of 3 MB", () => ({ name: TEXT, uri: "", level: "debug" })],
  ["with an address of 3 MB", () => ({ uri: TEXT })],
  ["with nested arguments", () => ({ name: "read_file", arguments: new RawJson(`{"path":${"[".repeat(100_000)}${"]".repeat(100_000)}}`) })],
  ["with a million items", () => new RawJson(`[${"0,".repeat(1_000_000)}0]`)],
  ["with 100,000 keys", () => keys(100_000, 1)],
  ["with 9,000 long fields of _meta", () => ({ _meta: keys(9_000, TEXT.slice(0, 300)) })],
];

async function list(session: McpSession): Promise<Listed> {
  const answers = await Promise.all(
    ["resources/list", "resources/templates/list", "prompts/list"].map((method) => session.ask(method, {}, AbortSignal.timeout(60_000))),
  );
  return Object.assign({}, ...answers.map(({ result }) => result)) as Listed;
}

const VARIABLE = /\{[+?]?([a-z_,]+)\}/g;

function variablesOf(template: string): readonly string[] {
  return [...template.matchAll(VARIABLE)].flatMap(([, names = ""]) => names.split(","));
}

/** Addresses of things that there are, and of things that nobody has. */
function expand(template: string, { files, values }: HostileLab["known"]): readonly string[] {
  const fill = (path: string, id: string): string =>
    template.replaceAll(VARIABLE, (whole, names: string) => {
      if (whole.startsWith("{?")) return "?offset=0&limit=262144";
      return names === "id" ? id : names === "path" ? encodeURI(path.slice(1)) : path;
    });
  const texts = Object.values(HOSTILE_TEXTS).map((make) => encodeURIComponent(toAscii(make(), URI_LENGTH / 3)));
  const id = String(values["sandbox"]);
  return [...files.map((path) => fill(path, id)), ...texts.map((text) => fill(`/${text}`, id)), ...texts.map((text) => fill("/x", text))];
}
