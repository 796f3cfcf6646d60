import type { Route } from "../../routes/route.ts";
import type { SandboxAdmission } from "../admit-sandbox.ts";
import type { E2b } from "../e2b.ts";

export function interpreterRoutes(_e2b: E2b, _admission: SandboxAdmission): readonly Route[] {
  return [];
}
