import * as z from "zod";
import { BelljarError } from "../../../errors.ts";
import type { Volume, Volumes } from "../../../sandbox/volumes/volumes.ts";
import type { Asked, Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { E2b } from "../e2b.ts";
import { domainFor } from "../e2b-domain.ts";
import { CHANGES, READS, READS_TOKENS } from "./scopes.ts";

const path = "/volumes/:id";
const params = z.object({ id: z.string().min(1).max(200) });
const listedSchema = z.object({ volumeID: z.string(), name: z.string() });
const openedSchema = listedSchema.extend({ token: z.string().describe("Opens the files of this volume alone"), domain: z.string() });

/** The caller's own volumes. Somebody else's and none are the same answer. */
export function volumeRoutes(e2b: E2b): readonly Route[] {
  const volumes = (): Volumes => e2b.volumes ?? keepsNone();
  const { volumeQuotaBytes: quotaBytes } = e2b.settings;
  return [
    defineRoute({
      method: "POST",
      path: "/volumes",
      access: CHANGES,
      summary: "Makes a volume, a folder that sandboxes of the caller share",
      body: z.object({ name: z.string().max(200) }),
      answers: { 201: openedSchema },
      async handle(asked) {
        return opened(e2b, asked, await madeNew(volumes().create(asked.caller, { name: asked.body.name, quotaBytes })));
      },
    }),
    defineRoute({
      method: "GET",
      path: "/volumes",
      access: READS,
      summary: "The caller's volumes, by name",
      answers: { 200: z.array(listedSchema).readonly() },
      handle: async ({ caller }) => (await volumes().list(caller)).map(listed),
    }),
    defineRoute({
      method: "GET",
      path,
      access: READS_TOKENS,
      summary: "A volume, with the token of its files",
      params,
      answers: { 200: openedSchema },
      handle: async (asked) => opened(e2b, asked, await volumes().get(asked.caller, asked.params.id)),
    }),
    defineRoute({
      method: "DELETE",
      path,
      access: CHANGES,
      summary: "Removes a volume with its files. 409 while a sandbox has it",
      params,
      answers: { 204: null },
      handle: ({ caller, params: { id } }) => volumes().remove(caller, id),
    }),
  ];
}

/** E2B's clients know 400 for a name that is taken. */
async function madeNew(making: Promise<Volume>): Promise<Volume> {
  try {
    return await making;
  } catch (cause) {
    if (!(cause instanceof BelljarError && cause.code === "VOLUME_NAME_TAKEN")) throw cause;
    throw new BelljarError("ARGUMENTS_INVALID", cause.message, { cause });
  }
}

function listed({ id: volumeID, name }: Volume): z.output<typeof listedSchema> {
  return { volumeID, name };
}

function opened(
  { tokens, domain }: Pick<E2b, "tokens" | "domain">,
  { origin }: Pick<Asked, "origin">,
  volume: Volume,
): z.output<typeof openedSchema> {
  return { ...listed(volume), token: tokens.of("volume", volume.id), domain: domainFor(domain, origin) };
}

function keepsNone(): never {
  throw new BelljarError("NOT_SUPPORTED", "This server keeps no volumes");
}
