import { rm } from "node:fs/promises";
import { expect } from "vitest";
import { verifyAudit } from "../../src/audit/verify-audit.ts";
import { createMemoryKeyring } from "../support/memory-keyring.ts";
import { CALL, openAuditHome } from "../support/audit-home.ts";
import { verifies } from "./verifies.ts";

verifies("audit-tamper-evident", async () => {
  await using home = await openAuditHome();
  const keyring = createMemoryKeyring();
  await using log = home.open({ keyring });
  log.record({ ...CALL, tool: "evil" });
  await log.close();
  const place = { home: home.home, keyring };
  expect(await verifyAudit(place)).toMatchObject({ isIntact: true, key: { isInKeyring: true } });
  // By somebody who may write the whole home and does not get at the keyring: another audit, with a key of its own in a file.
  await Promise.all([home.segments, home.index].map((folder) => rm(folder, { recursive: true })));
  await using forged = home.open();
  forged.record({ ...CALL, tool: "harmless" });
  await forged.close();
  expect(await home.verify(), "whoever asks no keyring sees nothing").toMatchObject({ isIntact: true, key: { isInKeyring: false } });
  await expect(verifyAudit(place)).rejects.toMatchObject({ code: "AUDIT_DAMAGED" });
});
