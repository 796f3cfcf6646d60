import { createSandboxId } from "../../src/sandbox/sandbox-id.ts";
import { TemplateFiles } from "../../src/template/template-files.ts";
import type { TemplateRecord } from "../../src/template/template-record.ts";

/** A template without layers, for tests of who may know of it: nothing can be started from it. */
export async function storeTemplate(home: string, { owner, name }: Pick<TemplateRecord, "owner" | "name">): Promise<TemplateRecord> {
  const files = new TemplateFiles(home, () => undefined);
  const record: TemplateRecord = {
    version: 1,
    id: createSandboxId(),
    name,
    owner,
    createdAt: new Date(),
    source: { kind: "snapshot", id: createSandboxId() },
    runtime: "fake",
    base: "base",
    layers: [],
    bytes: 0,
    env: { OF: owner },
  };
  await files.begin(record);
  await files.commit(record);
  return record;
}
