import * as z from "zod";
import { absolutePath } from "./config-fields.ts";

/** Two labels at least: clients take no wildcard for a shorter name. */
const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The host names that `serve` answers by TLS. */
export function tlsSchema() {
  return z
    .strictObject({
      domain: z
        .string()
        .max(180)
        .toLowerCase()
        .regex(DOMAIN, "must be a domain of two names or more, such as e2b.localhost, without a port")
        .optional()
        .describe(
          "Domain that clients of E2B ask by TLS, at the port of `serve`: api.DOMAIN and PORT-ID.DOMAIN, which must lead to this machine. Without it they ask by E2B_API_URL and E2B_SANDBOX_URL alone",
        ),
      cert: absolutePath()
        .optional()
        .describe(
          "File with the certificate for *.DOMAIN and its chain, in PEM. Without it Belljar makes an authority, for clients to trust",
        ),
      key: absolutePath().optional().describe("File with the certificate's key, in PEM"),
    })
    .prefault({});
}
