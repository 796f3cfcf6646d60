import {
  parse,
  type AnonymousClassDeclaration,
  type AnonymousFunctionDeclaration,
  type AnyNode,
  type ClassDeclaration,
  type ExportDefaultDeclaration,
  type ExportNamedDeclaration,
  type FunctionDeclaration,
  type ImportDeclaration,
  type Program,
  type VariableDeclaration,
} from "acorn";
import { Edits } from "./edits.ts";
import { importedNames, namesOf, visits } from "./syntax.ts";

/** The kernel's own global, which rewritten code calls. */
export const KERNEL = "__belljar";

export interface Rewritten {
  readonly code: string;
  /** How many characters stand before the author's first one. */
  readonly columnOffset: number;
  /** What the program declares at its top level. */
  readonly names: readonly string[];
  /** The program is a function that promises `[value]`, because it awaits or imports. */
  readonly isAsync: boolean;
  /** The program's last statement is an expression. */
  readonly hasValue: boolean;
}

/**
 * Makes a script of a program as one writes it in a notebook: what it declares stays and may be declared again,
 * `await`, `import` and `export` work at the top level. What cannot be parsed is left to the engine, which says why.
 */
export function rewrite(text: string, { isTyped = false } = {}): Rewritten {
  const source = text.replace(/^#!/, "//");
  const literal = source.trimStart().startsWith("{") ? parseProgram(`(${source}\n)`) : undefined;
  if (literal?.body.length === 1 && literal.body[0]?.type === "ExpressionStatement") {
    const { code, ...rest } = new Rewriter(`(${source}\n)`, literal, isTyped).rewrite();
    return { ...rest, code, columnOffset: rest.columnOffset + 1 };
  }
  const program = parseProgram(source);
  if (!program || program.body.some(isReexport)) return { code: source, columnOffset: 0, names: [], isAsync: false, hasValue: true };
  return new Rewriter(source, program, isTyped).rewrite();
}

function parseProgram(source: string): Program | undefined {
  try {
    return parse(source, {
      ecmaVersion: "latest",
      sourceType: "script",
      allowAwaitOutsideFunction: true,
      allowImportExportEverywhere: true,
      allowHashBang: true,
      preserveParens: true,
    });
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

function isReexport(node: AnyNode): boolean {
  return node.type === "ExportAllDeclaration" || (node.type === "ExportNamedDeclaration" && Boolean(node.source));
}

class Rewriter {
  readonly #program: Program;
  readonly #edits: Edits;
  readonly #isAsync: boolean;
  readonly #isTyped: boolean;
  readonly #names: string[] = [];
  readonly #first: string[] = [];

  constructor(source: string, program: Program, isTyped: boolean) {
    this.#program = program;
    this.#isTyped = isTyped;
    this.#edits = new Edits(source);
    this.#isAsync = program.body.some((node) => node.type === "ImportDeclaration") || awaits(program);
  }

  rewrite(): Rewritten {
    const statements = this.#program.body.filter((node) => node.type !== "EmptyStatement");
    const last = statements.at(-1);
    for (const node of statements) this.#rewriteStatement(node);
    this.#rewriteInside();
    const hasValue = last !== undefined && valueOf(last) !== undefined;
    const facts = { names: this.#names, isAsync: this.#isAsync, hasValue };
    if (this.#isAsync && hasValue && last) this.#giveBack(last);
    if (!this.#isAsync) return { ...facts, code: this.#edits.toString(), columnOffset: 0 };
    const names = this.#names.length > 0 ? `var ${[...new Set(this.#names)].join(",")};` : "";
    const prefix = `${names}(async()=>{${this.#first.join("")}`;
    return { ...facts, code: `${prefix}${this.#edits.toString()}\n})`, columnOffset: prefix.length };
  }

  #rewriteStatement(node: AnyNode): void {
    if (node.type === "ImportDeclaration") this.#import(node);
    else if (node.type === "VariableDeclaration") this.#declare(node);
    else if (node.type === "ExportNamedDeclaration" || node.type === "ExportDefaultDeclaration") this.#export(node);
    else if (isFunction(node) && node.id) this.#name(node, node.id.name);
  }

  #export({ start, end, declaration }: ExportNamedDeclaration | ExportDefaultDeclaration): void {
    this.#edits.remove(start, declaration?.start ?? end);
    if (!declaration) return;
    if (isFunction(declaration) && !declaration.id) this.#parenthesize(declaration);
    else this.#rewriteStatement(declaration);
  }

  /** An expression of a function without a name. */
  #parenthesize(node: AnyNode): void {
    this.#edits.insert(node.start, "(");
    this.#edits.insert(node.end, ")");
  }

  /** Returns the last expression's value. What is added stands on an earlier line where there is one: columns hold too. */
  #giveBack(last: AnyNode): void {
    const before = this.#program.body[this.#program.body.indexOf(last as Program["body"][number]) - 1];
    if (before) this.#edits.insert(before.end, ";return [(");
    else this.#first.push("return [(");
    this.#edits.insert(valueOf(last)?.end ?? last.end, ")]");
  }

  #name(node: AnyNode, name: string): void {
    this.#names.push(name);
    if (node.type === "ClassDeclaration") {
      this.#edits.insert(node.start, `${this.#isAsync ? "" : "var "}${name} = `);
      this.#edits.insert(node.end, ";");
    } else if (this.#isAsync) {
      // A function is there before its line is reached; from within the promise its name must be told to the outside.
      this.#first.push(`this.${name} = ${name};`);
    }
  }

  #declare(node: VariableDeclaration): void {
    const [first, last] = [node.declarations[0], node.declarations.at(-1)];
    if (!first || !last || node.kind === "using" || node.kind === "await using") return;
    this.#names.push(...node.declarations.flatMap(({ id }) => namesOf(id)));
    this.#edits.replace(node.start, first.start, this.#isAsync ? "void (" : "var ");
    if (node.kind === "let")
      for (const { id, init, end } of node.declarations) if (!init && id.type === "Identifier") this.#edits.insert(end, " = void 0");
    if (this.#isAsync) this.#edits.insert(last.end, ")");
  }

  #import(node: ImportDeclaration): void {
    const names = importedNames(node);
    const attributes = JSON.stringify(Object.fromEntries(node.attributes.map(({ key, value }) => [nameOf(key), value.value])));
    const call = `await ${KERNEL}.import(${JSON.stringify(node.source.value)},{with:${attributes},assert:${attributes}})`;
    const wanted = JSON.stringify(names.map(({ imported }) => imported));
    this.#names.push(...names.map(({ local }) => local));
    const locals = names.map(({ local }) => local).join(",");
    this.#first.push(locals ? `[${locals}]=${KERNEL}.take(${call},${wanted},${this.#isTyped});` : `${call};`);
    this.#edits.remove(node.start, node.end);
  }

  #rewriteInside(): void {
    for (const { node, parent, inScope } of visits(this.#program)) {
      if (node.type === "MetaProperty" && node.meta.name === "import") this.#edits.replace(node.start, node.end, `${KERNEL}.meta`);
      if (node.type === "ImportExpression") this.#edits.replace(node.start, node.start + "import".length, `${KERNEL}.import`);
      if (this.#isAsync && !inScope && node.type === "VariableDeclaration" && node.kind === "var") this.#hoist(node, parent);
    }
  }

  /** `var` in a block or a loop belongs to the whole program too. */
  #hoist(node: VariableDeclaration, parent: AnyNode | undefined): void {
    if (parent?.type === "Program" || parent?.type === "ExportNamedDeclaration") return;
    const [first] = node.declarations;
    const isHead = (parent?.type === "ForInStatement" || parent?.type === "ForOfStatement") && parent.left === node;
    if (!isHead || !first) return this.#declare(node);
    this.#names.push(...namesOf(first.id));
    return this.#edits.remove(node.start, first.start);
  }
}

function awaits(program: Program): boolean {
  for (const { node, inScope } of visits(program)) {
    if (inScope) continue;
    if (node.type === "AwaitExpression" || (node.type === "ForOfStatement" && node.await)) return true;
    if (node.type === "VariableDeclaration" && (node.kind === "using" || node.kind === "await using")) return true;
  }
  return false;
}

/** The expression whose value a last statement gives. */
function valueOf(node: AnyNode): AnyNode | undefined {
  if (node.type === "ExpressionStatement") return node.expression;
  return node.type === "ExportDefaultDeclaration" && isExpression(node.declaration) ? node.declaration : undefined;
}

/** A function or class with a name declares it; without a name it is a value. */
function isExpression(node: AnyNode): boolean {
  return !isFunction(node) || !node.id;
}

function isFunction(
  node: AnyNode,
): node is FunctionDeclaration | ClassDeclaration | AnonymousFunctionDeclaration | AnonymousClassDeclaration {
  return node.type === "FunctionDeclaration" || node.type === "ClassDeclaration";
}

function nameOf(key: AnyNode): string {
  if (key.type === "Identifier") return key.name;
  return key.type === "Literal" ? String(key.value) : "";
}
