import { expect } from "vitest";
import { encodeMessage } from "../../src/gateway/e2b/envd/connect/envelope.ts";
import type { E2bLab } from "../support/e2b-lab.ts";
import { openE2bLab } from "../support/e2b-lab.ts";
import { verifies } from "./verifies.ts";

interface Made {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
  readonly trafficAccessToken: string;
}

async function make(lab: E2bLab, key: string): Promise<Made> {
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const answer = await lab.ask("/v2/sandboxes", { method: "POST", headers, body: JSON.stringify({ templateID: "base" }) });
  return (await answer.json()) as Made;
}

verifies(
  "e2b-code-needs-token",
  async () => {
    await using lab = await openE2bLab();
    const { sandboxID, envdAccessToken, trafficAccessToken } = await make(lab, lab.key);
    const other = await make(lab, lab.key);
    const foreign = await make(lab, await lab.makeKey("somebody"));
    const answerTo = async (held: Record<string, string>, path = "/execute", method = "POST"): Promise<Response> => {
      const headers = { "content-type": "application/json", "e2b-sandbox-id": sandboxID, "e2b-sandbox-port": "49999", ...held };
      const body = method === "POST" ? JSON.stringify({ code: "1" }) : undefined;
      return lab.ask(path, { method, headers, ...(body !== undefined && { body }) });
    };
    const statusOf = async (...asked: Parameters<typeof answerTo>): Promise<number> => (await answerTo(...asked)).status;
    expect(await statusOf({ "x-access-token": envdAccessToken })).toBe(200);
    expect(await statusOf({ "e2b-traffic-access-token": trafficAccessToken })).toBe(200);
    const wrong: readonly Record<string, string>[] = [
      {},
      { "x-api-key": lab.key },
      { authorization: `Bearer ${envdAccessToken}` },
      { "x-access-token": trafficAccessToken },
      { "e2b-traffic-access-token": envdAccessToken },
      { "x-access-token": `${envdAccessToken.slice(0, -1)}x` },
      ...[other, foreign].flatMap((one): readonly Record<string, string>[] => [
        { "x-access-token": one.envdAccessToken },
        { "e2b-traffic-access-token": one.trafficAccessToken },
        { "x-access-token": one.envdAccessToken, "e2b-traffic-access-token": one.trafficAccessToken },
      ]),
    ];
    const routes = [
      ["/execute"],
      ["/contexts"],
      ["/contexts", "GET"],
      ["/contexts/python/restart"],
      ["/contexts/python", "DELETE"],
    ] as const;
    for (const held of wrong)
      for (const [path, method = "POST"] of routes)
        expect(await statusOf(held, path, method), `${method} ${path} ${JSON.stringify(held)}`).toBe(401);
    for (const refused of [await answerTo({}), await answerTo({ "x-access-token": envdAccessToken }, "/no/%ff")])
      expect([refused.ok, refused.headers.get("x-content-type-options")], "no page, whatever it repeats").toEqual([false, "nosniff"]);
  },
  60_000,
);

/** Calls of E2B's service of processes; the first three are streams. */
function callsOn(pid: number): readonly (readonly [string, unknown])[] {
  const process = { pid };
  return [
    ["Start", { process: { cmd: "/bin/true" } }],
    ["Connect", { process }],
    ["StreamInput", { start: { process } }],
    ["List", {}],
    ["SendInput", { process, input: { stdin: "YQ==" } }],
    ["CloseStdin", { process }],
    ["Update", { process, pty: { size: { rows: 1, cols: 1 } } }],
    ["SendSignal", { process, signal: "SIGNAL_SIGKILL" }],
  ];
}

const STREAMS: ReadonlySet<string> = new Set(["Start", "Connect", "StreamInput"]);

verifies(
  "e2b-processes-need-their-token",
  async () => {
    await using lab = await openE2bLab();
    const { sandboxID, envdAccessToken, trafficAccessToken } = await make(lab, lab.key);
    const other = await make(lab, lab.key);
    const foreign = await make(lab, await lab.makeKey("somebody"));
    const target = { "e2b-sandbox-id": sandboxID, "e2b-sandbox-port": "49983" };
    const ask = async (method: string, message: unknown, held: Readonly<Record<string, string>>): Promise<Response> => {
      const [type, body] = STREAMS.has(method)
        ? ["application/connect+json", encodeMessage(message)]
        : ["application/json", JSON.stringify(message)];
      return lab.ask(`/process.Process/${method}`, { method: "POST", headers: { ...target, "content-type": type, ...held }, body });
    };
    const own = { "x-access-token": envdAccessToken };
    const started = await ask("Start", { process: { cmd: "sleep", args: ["600"] } }, own);
    const first = await started.body?.getReader().read();
    const pid = Number(/"pid":(\d+)/.exec(Buffer.from(first?.value ?? []).toString())?.[1]);
    const wrong: readonly Readonly<Record<string, string>>[] = [
      {},
      { "x-api-key": lab.key },
      { authorization: `Bearer ${envdAccessToken}` },
      { "x-access-token": trafficAccessToken },
      { "e2b-traffic-access-token": trafficAccessToken },
      { "x-access-token": `${envdAccessToken.slice(0, -2)}xx` },
      { "x-access-token": other.envdAccessToken },
      { "x-access-token": foreign.envdAccessToken },
    ];
    for (const held of wrong)
      for (const [method, body] of callsOn(pid))
        expect((await ask(method, body, held)).status, `${method} ${JSON.stringify(held)}`).toBe(401);
    expect(await (await ask("List", {}, own)).json(), "it was not touched").toMatchObject({ processes: [{ pid }] });
    expect((await ask("SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" }, own)).status, "as its holder may").toBe(200);
  },
  60_000,
);
