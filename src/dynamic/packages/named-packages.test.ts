import { expect, it } from "vitest";
import { mayNamePackages } from "./named-packages.ts";

it("asks nobody about code that has no mark of a package", () => {
  expect([mayNamePackages("pip", "import x"), mayNamePackages("pip", "# <requirements>\n# x\n# </requirements>")]).toEqual([false, true]);
  expect([mayNamePackages("npm", "// zod"), mayNamePackages("npm", "// requirements\n// zod")]).toEqual([false, true]);
});
