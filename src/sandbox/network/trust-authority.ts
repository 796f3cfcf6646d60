import { BelljarError } from "../../errors.ts";
import type { NetworkPolicy } from "../../network/policy.ts";
import type { Guest } from "../../runtime/guest/guest.ts";

const SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt";
export const TRUST_MS = 30_000;

/** Whether some of its rules can only be judged by reading traffic that is encrypted. */
export async function readsTraffic(policy: NetworkPolicy): Promise<boolean> {
  if (typeof policy === "string") return false;
  const { allowancesOf } = await import("../../network/check-policy.ts");
  return allowancesOf(policy).some(({ methods, path, scheme }) => scheme !== "http" && (methods ?? path) !== undefined);
}

/** Makes the programs of one sandbox trust its own authority; resolves when they do. Doing it again changes nothing. */
export async function trustAuthority(guest: Guest, certificatePem: string, signal: AbortSignal): Promise<void> {
  const bundle = await readBundle(guest, signal);
  if (bundle.includes(certificatePem.trim())) return;
  const { trustFiles } = await import("../../network/tls/trust.ts");
  await Promise.all(
    trustFiles(certificatePem, bundle).map(({ path, content, mode }) => guest.files.write(path, content, { user: "root", mode, signal })),
  );
}

async function readBundle(guest: Guest, signal: AbortSignal): Promise<string> {
  try {
    return (await guest.files.read(SYSTEM_BUNDLE, { user: "root", signal })).toString();
  } catch (error) {
    if (error instanceof BelljarError && error.code === "FILE_NOT_FOUND") return "";
    throw error;
  }
}
