import type { SecretSource } from "../../mcp/proxy/prepare/server-secrets.ts";
import { EchoMask, maskEchoes } from "../../network/secrets/echo-mask.ts";
import { createEchoPatterns } from "../../network/secrets/echo-patterns.ts";
import { EchoScanner } from "../../network/secrets/echo-scanner.ts";
import type { SecretStore } from "../../secrets/secret-store.ts";

/** The secrets of a home for the servers of the hub. */
export function serverSecrets(store: Pick<SecretStore, "reveal">): SecretSource {
  return {
    reveal: (owner, name) => store.reveal(owner, name),
    maskOf(values) {
      const known = Object.entries(values).map(([name, value]) => ({ value, placeholder: `[${name}]` }));
      const scanner = new EchoScanner(createEchoPatterns(known));
      return {
        text: (text) => maskEchoes(scanner, Buffer.from(text)).toString("utf8"),
        open: () => new EchoMask(scanner, { keepsLength: false }),
      };
    },
  };
}
