import { expect } from "vitest";
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
    const statusOf = async (held: Record<string, string>, path = "/execute", method = "POST"): Promise<number> => {
      const headers = { "content-type": "application/json", "e2b-sandbox-id": sandboxID, "e2b-sandbox-port": "49999", ...held };
      const body = method === "POST" ? JSON.stringify({ code: "1" }) : undefined;
      return (await lab.ask(path, { method, headers, ...(body !== undefined && { body }) })).status;
    };
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
  },
  60_000,
);
