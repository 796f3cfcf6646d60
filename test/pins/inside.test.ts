import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { INSIDE } from "../../src/protocol/inside.ts";

const ROOT = join(import.meta.dirname, "../..");

it("the guest and the jail know the same users and homes", () => {
  const header = readFileSync(join(ROOT, "native/common/inside.h"), "utf8");
  const defines = [...header.matchAll(/^#define (INSIDE_\w+) (?:"([^"]*)"|(\d+)u)$/gm)];
  expect(Object.fromEntries(defines.map(([, name, text, number]) => [name, text ?? Number(number)]))).toEqual({
    INSIDE_USER: INSIDE.user,
    INSIDE_USER_ID: INSIDE.userId,
    INSIDE_USER_HOME: INSIDE.userHome,
    INSIDE_WORKSPACE: INSIDE.workspace,
    INSIDE_ROOT: INSIDE.root,
    INSIDE_ROOT_ID: INSIDE.rootId,
    INSIDE_ROOT_HOME: INSIDE.rootHome,
  });
});

it("the page for users names each of them", () => {
  const page = readFileSync(join(ROOT, "docs/reference/inside.md"), "utf8");
  for (const value of Object.values(INSIDE)) expect(page).toContain(`\`${value}\``);
});
