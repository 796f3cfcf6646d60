import * as z from "zod";
import type { Principal, Sandbox } from "../../../sandbox/sandbox.ts";
import { changes } from "../../auth/access.ts";
import type { Asked, Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { ENVD_VERSION } from "../e2b.ts";
import { domainFor } from "../e2b-domain.ts";
import { toLabels } from "./made-with.ts";

/** What comes with it is a token for its files, processes and code: no narrower one gets a sandbox here. */
const CHANGES = changes("toolset:sandbox", "toolset:shell", "toolset:files", "toolset:code");

const idParams = z.object({ id: z.string().min(1).max(200) });

const newSandbox = z.object({
  templateID: z.string().min(1).max(200),
  timeout: z.number().int().positive().max(31_536_000).default(300).describe("Seconds"),
  metadata: z.record(z.string(), z.string()).default({}),
  envVars: z.record(z.string(), z.string()).default({}),
});

const sandboxSchema = z.object({
  sandboxID: z.string(),
  templateID: z.string(),
  clientID: z.string(),
  envdVersion: z.string(),
  envdAccessToken: z.string(),
  trafficAccessToken: z.string(),
  domain: z.string(),
});

export function sandboxRoutes(e2b: E2b): readonly Route[] {
  return ["/sandboxes", "/v2/sandboxes"].map((path) =>
    defineRoute({
      method: "POST",
      path,
      access: CHANGES,
      summary: "Makes a sandbox, as E2B's SDKs ask for it",
      body: newSandbox,
      answers: { 201: sandboxSchema },
      async handle(asked) {
        const sandbox = await create(e2b, asked.caller, asked.body, asked.signal);
        asked.reached(sandbox.id);
        return toAnswer(e2b, asked, sandbox, asked.body.templateID);
      },
    }),
  );
}

async function create(e2b: E2b, caller: Principal, wish: z.output<typeof newSandbox>, signal: AbortSignal): Promise<Sandbox> {
  const { network } = e2b.settings;
  return e2b.sandboxes.create(
    caller,
    {
      metadata: toLabels(wish.metadata, { template: wish.templateID }),
      env: wish.envVars,
      timeoutMs: wish.timeout * 1_000,
      network,
    },
    signal,
  );
}

function toAnswer(
  { tokens, domain }: E2b,
  { origin }: Pick<Asked, "origin">,
  { id }: Sandbox,
  template: string,
): z.output<typeof sandboxSchema> {
  return {
    sandboxID: id,
    templateID: template,
    clientID: "belljar",
    envdVersion: ENVD_VERSION,
    envdAccessToken: tokens.of("access", id),
    trafficAccessToken: tokens.of("traffic", id),
    domain: domainFor(domain, origin),
  };
}

void idParams;
