import * as z from "zod";
import { BelljarError } from "../../errors.ts";
import type { SecretVault } from "../../secrets/secret-store.ts";
import type { Callers } from "../auth/callers.ts";
import { parseRequest } from "../parse-request.ts";
import { changes, reads } from "../auth/access.ts";
import type { RouteGroup } from "./routes.ts";

export interface SecretRoutesOptions {
  /** Absent where no home is: then every call says so. */
  readonly secrets: SecretVault | undefined;
  readonly callers: Callers;
}

const nameParams = z.object({ name: z.string().max(64) });
const valueBody = z.strictObject({ value: z.string() });

/** The caller's own secrets by name. A value comes in and never goes out. */
export function secretRoutes({ secrets, callers }: SecretRoutesOptions): RouteGroup {
  const vault = (): SecretVault => secrets ?? keepsNone();
  return (routes) => {
    routes.get("/v1/secrets", reads("secrets"), async (request) => ({ secrets: await vault().list(callers.of(request.raw).id) }));
    routes.put("/v1/secrets/:name", changes("secrets"), async (request, reply) => {
      const { name } = parseRequest(nameParams, request.params);
      await vault().set(callers.of(request.raw).id, name, parseRequest(valueBody, request.body).value);
      return reply.code(204).send();
    });
    routes.delete("/v1/secrets/:name", changes("secrets"), async (request, reply) => {
      await vault().remove(callers.of(request.raw).id, parseRequest(nameParams, request.params).name);
      return reply.code(204).send();
    });
  };
}

function keepsNone(): never {
  throw new BelljarError("NOT_SUPPORTED", "This server keeps no secrets");
}
