import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openCliHome } from "../support/belljar-cli.ts";

const HELLO = {
  "hello.py": "import sys\nprint('hello', *sys.argv[1:])\nsys.exit(3)\n",
  "hello.js": "console.log('hello', ...process.argv.slice(2)); process.exitCode = 3;\n",
  "hello.ts": "const words: string[] = process.argv.slice(2);\nconsole.log('hello', ...words);\nprocess.exit(3);\n",
  "hello.sh": 'echo hello "$@"\nexit 3\n',
  "hello.c":
    '#include <stdio.h>\nint main(int n, char **v) { printf("hello"); for (int i = 1; i < n; i++) printf(" %s", v[i]); puts(""); return 3; }\n',
  "hello.go":
    'package main\n\nimport (\n\t"fmt"\n\t"os"\n\t"strings"\n)\n\nfunc main() {\n\tfmt.Println("hello", strings.Join(os.Args[1:], " "))\n\tos.Exit(3)\n}\n',
  "hello.pl": 'print "hello @ARGV\\n";\nexit 3;\n',
};

/** Languages that the host may lack, and so the template: the program that shows that one is there. */
const WHERE_PRESENT = {
  "hello.cpp": [
    "/usr/bin/c++",
    '#include <iostream>\nint main(int n, char **v) { std::cout << "hello"; for (int i = 1; i < n; i++) std::cout << " " << v[i]; std::cout << std::endl; return 3; }\n',
  ],
  "hello.rb": ["/usr/bin/ruby", 'puts "hello #{ARGV.join(" ")}"\nexit 3\n'],
  "Hello.java": [
    "/usr/bin/javac",
    'public class Hello { public static void main(String[] words) { System.out.println("hello " + String.join(" ", words)); System.exit(3); } }\n',
  ],
} as const;

describe("belljar run", () => {
  it.each(Object.entries(HELLO))("runs %s, passes its arguments and gives its exit code", async (name, code) => {
    await using cli = await openCliHome();
    await writeFile(join(cli.folder, name), code);
    const result = await cli.run(["run", name, "--", "dear world", "-x"]);
    expect(result).toEqual({ code: 3, stdout: "hello dear world -x\n", stderr: "" });
  });

  it.each(Object.entries(WHERE_PRESENT))(
    "runs %s where its language is there, and says so where it is not",
    async (name, [shows, code]) => {
      await using cli = await openCliHome();
      await writeFile(join(cli.folder, name), code);
      const result = await cli.run(["run", name, "--", "dear world", "-x"]);
      const ran = { code: 3, stdout: "hello dear world -x\n", stderr: "" };
      const refused = { code: 125, stderr: expect.stringContaining("LANGUAGE_UNAVAILABLE") };
      expect(result).toMatchObject(existsSync(shows) ? ran : refused);
    },
  );

  it("reads the program from stdin", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["run", "-", "--lang", "python"], { input: "print(6 * 7)" })).toMatchObject({ code: 0, stdout: "42\n" });
  });

  it("passes stdin to the program while it runs", async () => {
    await using cli = await openCliHome();
    await writeFile(join(cli.folder, "count.py"), "import sys\nprint(len(sys.stdin.read()))\n");
    expect(await cli.run(["run", "count.py"], { input: "x".repeat(300_000) })).toMatchObject({ code: 0, stdout: "300000\n" });
  });

  it("ends although its own stdin stays open", async () => {
    await using cli = await openCliHome();
    await writeFile(join(cli.folder, "quick.py"), "print('done')\n");
    await using command = cli.start(["run", "quick.py"]);
    expect(await command.exit).toMatchObject({ code: 0, stdout: "done\n" });
  });

  it("keeps stdout and stderr apart", async () => {
    await using cli = await openCliHome();
    const result = await cli.run(["run", "-", "-l", "bash"], { input: "echo out; echo err >&2" });
    expect(result).toEqual({ code: 0, stdout: "out\n", stderr: "err\n" });
  });

  it("gives 128 and the number of the signal that ended the program", async () => {
    await using cli = await openCliHome();
    expect(await cli.run(["run", "-", "-l", "bash"], { input: "kill -TERM $$" })).toMatchObject({ code: 143 });
  });

  it("stops a program that runs too long, with 125", async () => {
    await using cli = await openCliHome();
    const result = await cli.run(["run", "-", "-l", "bash", "--timeout", "300ms"], { input: "sleep 60" });
    expect(result).toMatchObject({ code: 125, stderr: expect.stringContaining("EXEC_TIMEOUT") });
  });

  it("says that a program was killed for its memory, where memory is limited", async () => {
    await using cli = await openCliHome();
    const { limits } = JSON.parse((await cli.run(["doctor", "--json"])).stdout) as { readonly limits: readonly string[] };
    const result = await cli.run(["run", "-", "-l", "python"], { input: "held = bytearray(1 << 30)" });
    const killed = { code: 137, stderr: expect.stringContaining("memory was used up") };
    expect(result).toMatchObject(limits.includes("memoryBytes") ? killed : { code: 0, stderr: "" });
  });

  it("says that a child was killed for the memory, of a program that failed and of any command, where memory is limited", async () => {
    await using cli = await openCliHome();
    const { limits } = JSON.parse((await cli.run(["doctor", "--json"])).stdout) as { readonly limits: readonly string[] };
    const isLimited = limits.includes("memoryBytes");
    const told = expect.stringMatching(isLimited ? /belljar: .*memory was used up/ : /^(?![^]*memory was used up)/);
    const hog = "python3 -c 'held = bytearray(1 << 30)'";
    expect(await cli.run(["run", "-", "-l", "bash"], { input: `${hog}; exit 3` })).toMatchObject({ code: 3, stderr: told });
    const id = (await cli.run(["sandbox", "create", "--memory", "64m", "--best-effort"])).stdout.trim();
    for (const code of [0, 3])
      expect(await cli.run(["exec", id, "--", "sh", "-c", `${hog}; exit ${code}`])).toMatchObject({ code, stderr: told });
    expect(await cli.run(["exec", id, "--", "false"])).toMatchObject({ code: 1, stderr: "" });
  });

  it("says that the disk is full when a program or a command fails, where the disk is limited", async () => {
    await using cli = await openCliHome();
    const env = { BELLJAR_STORAGE: "tmpfs", BELLJAR_PROGRAM_DISK_BYTES: "16m" };
    const run = (argv: readonly string[], input?: string) => cli.run(argv, { env, ...(input !== undefined && { input }) });
    const { limits } = JSON.parse((await run(["doctor", "--json"])).stdout) as { readonly limits: readonly string[] };
    const isLimited = limits.includes("diskBytes");
    const told = expect.stringMatching(isLimited ? /the sandbox's disk is full/ : /^(?![^]*disk is full)/);
    const fill = "dd if=/dev/zero of=/tmp/big bs=1M count=64 status=none";
    expect(await run(["run", "-", "-l", "bash"], fill)).toMatchObject({ code: isLimited ? 1 : 0, stderr: told });
    const json = JSON.parse((await run(["run", "-", "-l", "bash", "--json"], fill)).stdout) as object;
    expect(json).toMatchObject({ disk_full: isLimited, out_of_memory: false });
    const id = (await run(["sandbox", "create", "--disk", "16m", "--best-effort"])).stdout.trim();
    expect(await run(["exec", id, "--", "sh", "-c", `${fill}; exit 3`])).toMatchObject({ code: 3, stderr: told });
    expect(await run(["exec", id, "--", "false"])).toMatchObject({ code: 1, stderr: told });
    expect((await run(["exec", id, "--", "true"])).stderr).toBe("");
    expect((await run(["exec", id, "--", "sh", "-c", "rm /tmp/big; sync -f /tmp; exit 4"])).stderr).toBe("");
  });

  it("gives the compiler's words and its exit code", async () => {
    await using cli = await openCliHome();
    const result = await cli.run(["run", "-", "-l", "c"], { input: "int main(void) { return x; }" });
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining("undeclared") });
  });

  it("prints the result as JSON", async () => {
    await using cli = await openCliHome();
    const { code, stdout } = await cli.run(["run", "-", "-l", "python", "--json"], { input: "print('a'); exit(4)" });
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ status: "error", stdout: "a\n", stderr: "", exit_code: 4, truncated: false });
  });

  it("leaves no sandbox behind", async () => {
    await using cli = await openCliHome();
    await cli.run(["run", "-", "-l", "python"], { input: "print(1)" });
    expect(await cli.run(["sandbox", "list", "--json"])).toMatchObject({ stdout: "[]\n" });
  });

  it("exits with 130 on Ctrl+C and leaves no sandbox behind", async () => {
    await using cli = await openCliHome();
    await writeFile(join(cli.folder, "long.sh"), "echo started >&2; sleep 60\n");
    await using command = cli.start(["run", "long.sh"]);
    await command.says(/started/);
    command.signal("SIGINT");
    expect(await command.exit).toMatchObject({ code: 130 });
    expect(await cli.run(["sandbox", "list", "--json"])).toMatchObject({ stdout: "[]\n" });
  });

  it.each([
    [["run", "missing.py"], 125, "there is no such file"],
    [["run", "notes.txt"], 2, "name it with --lang"],
    [["run", "-", "--lang", "cobol"], 125, "cobol"],
    [["run", "-", "-l", "python", "--timeout", "30"], 2, "a time with its unit"],
  ])("refuses %j", async (argv, code, message) => {
    await using cli = await openCliHome();
    const result = await cli.run(argv, { input: "x" });
    expect(result).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(message) });
    expect(result.stderr).not.toMatch(/\n +at /);
  });
});
