import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import * as z from "zod";
import { ARCHIVE_MAX_BYTES, isArchiveHash } from "../../../template/archives/build-archives.ts";
import type { Principal } from "../../../sandbox/sandbox.ts";
import { noTemplates } from "../../../template/templates.ts";
import type { OpenTemplates } from "../../../template/templates-in-steps.ts";
import { changes } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import type { RoutedSurface } from "../../surfaces/surface.ts";
import type { E2b } from "../e2b.ts";
import { secureReach } from "../e2b-domain.ts";
import { controlErrors, controlStatus } from "../e2b-errors.ts";
import { idParams } from "./template-schemas.ts";
import { parseNewName } from "./template-names.ts";

const CHANGES = changes("toolset:template");
/** A root of its own: whoever holds the URL needs no key. */
const UPLOADS = "/template-archives";
const TYPE = "application/octet-stream";
const TICKET_MAX = 200;

const hash = z.string().refine(isArchiveHash, "is no SHA-256 in hexadecimal digits");
const link = z.object({ present: z.boolean(), url: z.string().optional(), headers: z.record(z.string(), z.string()).optional() });

export function templateFileRoutes(open: OpenTemplates): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/templates/:id/files/:hash",
      access: CHANGES,
      summary: "Whether the archive of these files is there, and a URL that takes it once, within an hour",
      params: idParams.extend({ hash }),
      answers: { 201: link },
      async handle({ caller, params: { id, hash: wanted }, origin }) {
        parseNewName(id, caller);
        const { archives } = await open();
        const present = (await archives.find(caller.id, wanted)) !== undefined;
        const ticket = await archives.invite(caller.id, wanted);
        return { present, url: `${origin}${UPLOADS}/${ticket}`, headers: { "content-type": TYPE } };
      },
    }),
  ];
}

/** Where archives of builds are sent. The URL says whose they are; it is worth nothing once its owner has no key. */
export function uploadSurface({ templates: open = noTemplates, keys, domain }: Pick<E2b, "templates" | "keys" | "domain">): RoutedSurface {
  return {
    kind: "routed",
    name: "e2b-uploads",
    reach: { prefixes: [UPLOADS], ...secureReach(domain, `api${UPLOADS}`) },
    authentication: { opens: "e2b", localUser: "never", identify: findUploader(open, keys) },
    cors: "none",
    shapeError: controlErrors,
    statusOf: controlStatus,
    routes: [uploadRoute(open)],
  };
}

function findUploader(open: OpenTemplates, keys: E2b["keys"]): (request: IncomingMessage) => Promise<Principal | undefined> {
  // A request that was let in is looked at again while it is served: its ticket is used up by then.
  const owners = new WeakMap<IncomingMessage, string>();
  return async (request) => {
    const owner = owners.get(request) ?? (await (await open()).archives.ownerOf(ticketOf(request)));
    if (owner === undefined) return undefined;
    owners.set(request, owner);
    const [grants] = (await keys.of(owner)).filter(({ toolsets }) => toolsets === undefined || toolsets.includes("template"));
    return grants && { id: owner, name: owner.replace(/^token:/, ""), grants };
  };
}

function ticketOf({ url = "" }: Pick<IncomingMessage, "url">): string {
  return url.slice(UPLOADS.length + 1).split("?", 1)[0] ?? "";
}

function uploadRoute(open: OpenTemplates): Route {
  return defineRoute({
    method: "PUT",
    path: `${UPLOADS}/:ticket`,
    access: CHANGES,
    summary: "Takes an archive of files for builds, by the URL that its owner was given. Once",
    params: z.object({ ticket: z.string().min(1).max(TICKET_MAX) }),
    body: z.custom<Readable>((value) => value !== undefined && value !== null),
    takes: { types: [TYPE, "application/gzip", "application/x-gzip", "application/x-tar"], isUntyped: true, limitBytes: ARCHIVE_MAX_BYTES },
    answers: { 200: null },
    handle: async ({ params: { ticket }, body }) => (await open()).archives.store(ticket, body),
  });
}
