import { ok } from "node:assert/strict";
import { readShellTool, shellCall } from "../../../src/dynamic/shell-tool.ts";
import { Refusal } from "../../../src/interpreter/kernels/tools/javascript/refusal.ts";
import { readRequirements } from "../../../src/interpreter/kernels/tools/javascript/requirements.ts";
import { pureTarget } from "../fuzz-target.ts";

const MESSAGE_MAX = 1024;

/** Scripts of users: refused in a short text, or a tool that can be called, without a variable that programs take as a setting. */
export const shellTools = pureTarget({
  seeds: [
    '#!/bin/bash\n# ---\n# { "description": "Greets", "parameters": { "name": { "type": "string", "default": "you" } } }\n# ---\necho "$NAME"',
    '# ---\n# { "input": { "type": "object", "properties": { "a": {}, "b_1": { "default": [1] } } }, "output": { "type": "object" } }\n# ---',
  ],
  words: ["# ---\n", '"parameters"', '"properties"', '"default"', "__proto__", "constructor", "PATH", "bash_env", "\0", "\ud800"],
  run(input) {
    const code = input.toString();
    const read = readShellTool(code, "greet");
    if (read.kind === "refused") return ok(read.message.length <= MESSAGE_MAX);
    const { env, stdin } = shellCall(read.tools[0], code, {});
    ok(Object.keys(env).every((name) => /^[A-Z_][A-Z0-9_]*$/.test(name) && !/^(?:PATH|IFS|ENV|HOME|LD_.*|BASH.*)$/.test(name)));
    JSON.parse(stdin);
  },
});

/** The requirements of users' JavaScript: each is a name of the index, which npm takes for no option, path or URL. */
export const npmRequirements = pureTarget({
  seeds: ["// requirements\n// zod@^4\n// @scope/x@1.2.3\n", '/* package.json\n{ "dependencies": { "zod": ">=4 <5" } }\n*/\nimport "zod"'],
  words: ["// requirements\n", "/* package.json", "*/", "//", "@", "--", "file:", "npm:", "git+ssh://"],
  run(input) {
    try {
      for (const requirement of readRequirements(input.toString())) ok(!/^[-./]|[:\\\s]{2}|[\n\r:\\]/.test(requirement));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      ok(error.message.length <= MESSAGE_MAX);
    }
  },
});
