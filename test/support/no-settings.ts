import type { FacadeSettings } from "../../src/gateway/facade/facade-settings.ts";

/** A façade to which nobody has told anything, and nobody can. */
export function createNoSettings(): FacadeSettings {
  const refuse = async (): Promise<never> => {
    throw new TypeError("Nothing is set here");
  };
  return {
    setCredential: refuse,
    setToolServer: refuse,
    toolServer: async () => undefined,
    assertMaySet: refuse,
    servers: async () => ({}),
  };
}
