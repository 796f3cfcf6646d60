import { expect, it } from "vitest";
import { parseDockerfile } from "./parse-dockerfile.ts";

const parse = (text: string, buildArgs: Record<string, string> = {}, target?: string) => parseDockerfile(text, { buildArgs, target });
const steps = (text: string) => parse(`FROM base\n${text}`).stages[0]?.steps;
const facts = (text: string): unknown => steps(text)?.map(({ line: _line, text: _text, ...rest }) => rest);

it("joins lines that go on, without comments and empty lines between them", () => {
  expect(steps("RUN a \\\n  # comment\n\n  b\\\nc\n# end")).toEqual([
    { line: 2, text: "RUN a   bc", kind: "run", command: { text: "a   bc" }, mounts: [] },
  ]);
  expect(parse("# syntax=x\r\n# Escape=`\r\nFROM base\r\nRUN a `\r\n b \\\r\n").stages[0]?.steps).toMatchObject([
    { command: { text: "a  b \\" } },
  ]);
});

it.each([
  ['RUN ["a", "b c"]', { kind: "run", command: { argv: ["a", "b c"] }, mounts: [] }],
  [
    "RUN --mount=type=secret,id=a --mount=type=secret,id=b.c,dst=/x,env=E,required x",
    {
      kind: "run",
      command: { text: "x" },
      mounts: [
        { id: "a", target: "/run/secrets/a", isRequired: false },
        { id: "b.c", target: "/x", env: "E", isRequired: true },
      ],
    },
  ],
  ["RUN --mount=id=a,type=secret,env=E x", { kind: "run", command: { text: "x" }, mounts: [{ id: "a", env: "E", isRequired: false }] }],
  ["run [ -e x ]", { kind: "run", command: { text: "[ -e x ]" }, mounts: [] }],
  [
    "ENV A=1 B='2 3' C=\"4 5\" D=6\\ 7",
    {
      kind: "env",
      pairs: [
        ["A", "1"],
        ["B", "'2 3'"],
        ["C", '"4 5"'],
        ["D", "6\\ 7"],
      ],
    },
  ],
  ["ENV A b c", { kind: "env", pairs: [["A", "b c"]] }],
  ["ARG A", { kind: "arg", name: "A" }],
  ["ARG A=", { kind: "arg", name: "A", value: "" }],
  [
    "COPY --from=x --chown=1:2 --chmod=755 --link a b/ c/",
    { kind: "copy", word: "COPY", sources: ["a", "b/"], destination: "c/", from: "x", chown: "1:2", chmod: "755" },
  ],
  ['ADD ["a b", "c"]', { kind: "copy", word: "ADD", sources: ["a b"], destination: "c" }],
  ['SHELL ["sh", "-ec"]', { kind: "shell", argv: ["sh", "-ec"] }],
  ["EXPOSE 80", { kind: "ignored", why: expect.any(String) as string }],
] as const)("reads %s", (text, expected) => {
  expect(facts(text)).toEqual([expected]);
});

it("puts the variables before FROM into FROM, and those that were given before those of the file", () => {
  const text = "ARG A=base\nARG B=${A}d\nFROM --platform=${P:-linux/amd64} $A AS One\nFROM ${B} as two";
  expect(parse(text, { A: "x" }).stages).toMatchObject([
    { image: "x", name: "one", platform: "linux/amd64" },
    { image: "xd", name: "two" },
  ]);
  expect(parse(text, {}, "ONE").stages).toHaveLength(1);
  expect(parse(text, {}, "1").stages).toHaveLength(2);
});

it.each([
  ["", /no FROM/],
  ["RUN a\nFROM base", /^Line 1 .*only ARG/],
  ["FROM", /^Line 1 .*FROM takes/],
  ["FROM a b c", /^Line 1 /],
  ["FROM $NOTHING", /names nothing/],
  ["FROM base AS ../x", /no name of a stage/],
  ["FROM base AS x\nFROM base AS X", /^Line 2 .*another stage/],
  ["FROM base\nNOTHING x", /^Line 2 .*"NOTHING" is no instruction/],
  ["FROM base\n__proto__ x", /is no instruction/],
  ["FROM base\nRUN", /names no command/],
  ["FROM base\nRUN []", /names no command/],
  ["FROM base\nRUN --mount=type=cache,target=/a x", /type=secret alone/],
  ["FROM base\nRUN --network=none x", /--network is not supported/],
  ["FROM base\nRUN cat <<EOF\nFROM x\nEOF", /<<EOF/],
  ["FROM base\nCOPY <<-'END' /x", /<<EOF/],
  ["FROM base\nCOPY a", /at least one source/],
  ["FROM base\nCOPY --parents a b", /--parents is not supported/],
  ["FROM base\nONBUILD RUN x", /ONBUILD/],
  ["FROM base\nENV A", /NAME=VALUE/],
  ["FROM base\nENV A=1 b", /NAME=VALUE/],
  ["FROM base\nENV 1A=1", /no name of a variable/],
  ["FROM base\nARG A B", /one NAME/],
  ["FROM base\nSHELL sh", /takes a list/],
  ["FROM base\0", /NUL/],
  ["# escape=x\nFROM base", /^Line 1 .*escape/],
  [`FROM base${"\nRUN a".repeat(1_001)}`, /^Line 1001 .*instruction 1001/],
  [`FROM base\nRUN ${"a".repeat(300_000)}`, /more than 262144/],
  ["FROM base\n".repeat(65), /stages/],
  ["ARG A=\u001B[2J\nFROM base\n\u001B[2J x", /is no instruction/],
])("refuses %j, and says where and why", (text, message) => {
  expect(() => parse(text)).toThrow(
    expect.objectContaining({ code: "DOCKERFILE_INVALID", message: expect.stringMatching(message) as string }),
  );
});

it("shows nothing of a file that could steer a terminal", () => {
  expect(() => parse("FROM base\n\u001B[2J x")).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining("\u001B") as string }),
  );
});

it.each(["\\", "$", "${A:-", '"', "'", "[", " ", "#", "--a=b ", "\\\n", "<<"])("is not held up by very many %j", (piece) => {
  const text = `FROM base\nCOPY --from=${piece.repeat(Math.floor(200_000 / piece.length))}`;
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: "DOCKERFILE_INVALID" }));
});
