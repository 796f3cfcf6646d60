import { readFile } from "node:fs/promises";
import * as http from "node:http";
import * as https from "node:https";
import { rootCertificates } from "node:tls";
import type { Config } from "../../config/config.ts";
import { ifPresent } from "../../files/file-error.ts";
import type { IsolationCheck } from "../../runtime/contract/runtime.ts";
import { trustFiles } from "../compose/open-e2b-domain.ts";
import { serverOrigin } from "../compose/port-origin.ts";

const ANSWER_MS = 10_000;
/** E2B's answers to these questions are some hundred bytes. */
const ANSWER_MAX_BYTES = 64 * 1024;
/** No sandbox has this id, so that its port answers as E2B's does for a sandbox that is gone. */
const NOBODY = "e2bdoctore2bdoctor00";

/** What is tried of a road: the control plane, and the planes of sandboxes. */
interface Road {
  readonly id: string;
  readonly control: URL;
  readonly sandbox: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca?: readonly string[];
}

type DoctoredConfig = Pick<Config, "home" | "host" | "port" | "url" | "tls">;

/**
 * Whether clients of E2B find this server from this machine, on both roads: by its URL, and by names below `tls.domain` with TLS. With a key
 * it is tried too. Nothing is made.
 */
export async function checkE2b(config: DoctoredConfig, key: string | undefined): Promise<readonly IsolationCheck[]> {
  const origin = serverOrigin(config);
  const headers = { "e2b-sandbox-id": NOBODY, "e2b-sandbox-port": "49983" };
  const byUrl = tryRoad({ id: "e2b-url", control: new URL("/v2/sandboxes", origin), sandbox: new URL("/health", origin), headers }, key);
  return Promise.all([byUrl, checkNames(config, origin, key)]);
}

async function checkNames({ home, tls }: DoctoredConfig, { port }: URL, key: string | undefined): Promise<IsolationCheck> {
  const id = "e2b-names";
  if (tls.domain === undefined)
    return absent(id, "No names are asked by TLS", "Programs that know E2B_DOMAIN alone need tls.domain (or `serve --tls-domain DOMAIN`)");
  const names = [`api.${tls.domain}`, `49983-${NOBODY}.${tls.domain}`];
  const [control = "", sandbox = ""] = names.map((name) => `https://${name}${port === "" ? "" : `:${port}`}`);
  const own = tls.cert === undefined ? await readAuthority(trustFiles(home, tls.domain).authority) : undefined;
  const road = { id, control: new URL("/v2/sandboxes", control), sandbox: new URL("/health", sandbox), headers: {} };
  return tryRoad({ ...road, ...(own !== undefined && { ca: [own, ...rootCertificates] }) }, key);
}

function readAuthority(path: string): Promise<string | undefined> {
  return ifPresent(path, readFile(path, "utf8"));
}

async function tryRoad(road: Road, key: string | undefined): Promise<IsolationCheck> {
  const { id, control, sandbox } = road;
  try {
    const gone = await ask(road, sandbox, road.headers);
    if (gone.status !== 502 || !hasCode(gone.text)) return strange(road, sandbox, gone.status);
    const { status, text } = await ask(road, control, key === undefined ? {} : { "x-api-key": key });
    if (status === 401 && key !== undefined)
      return absent(id, `${control.origin} refuses the key of E2B_API_KEY`, "Make one: belljar token create NAME --e2b");
    if (status !== (key === undefined ? 401 : 200) || (status === 401 && !hasCode(text))) return strange(road, control, status);
    return {
      id,
      state: "enforced",
      detail: `E2B's clients find this server at ${control.origin}${key === undefined ? "" : ", and the key opens it"}`,
    };
  } catch (error) {
    return absent(id, `${control.origin} cannot be asked: ${(error as Error).message}`, remedyFor(error));
  }
}

function strange({ id }: Road, { href }: URL, status: number): IsolationCheck {
  return absent(
    id,
    `${href} answers ${status}, which is no answer of Belljar's to E2B's clients`,
    "See what listens there, and whether a proxy stands in between",
  );
}

function remedyFor(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "Have that name and all others below the domain lead to the server, in DNS";
  if (code === "ECONNREFUSED") return "Start the server: belljar serve";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID" || code?.includes("CERT") === true || code?.startsWith("UNABLE_TO") === true)
    return "The certificate is not for that name, or this machine does not trust it: see what `belljar serve` prints for NODE_EXTRA_CA_CERTS";
  return "See whether the server runs with that domain, and the log of the server";
}

function absent(id: string, detail: string, remedy: string): IsolationCheck {
  return { id, state: "absent", detail, remedy };
}

/** Whether it is an error in E2B's form. */
function hasCode(text: string): boolean {
  try {
    return typeof (JSON.parse(text) as { code?: unknown } | null)?.code === "number";
  } catch {
    return false;
  }
}

function ask(
  { ca }: Road,
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string }> {
  const { request } = url.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers, ...(ca && { ca: [...ca] }), signal: AbortSignal.timeout(ANSWER_MS), agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("error", reject);
      answer.on("data", (part: string) => {
        text += part;
        if (text.length > ANSWER_MAX_BYTES) asked.destroy(new Error("the answer is too long"));
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asked.on("error", reject);
    asked.end();
  });
}
