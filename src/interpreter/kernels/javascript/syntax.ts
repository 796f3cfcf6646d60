import type { AnyNode, ImportDeclaration, Pattern, Program } from "acorn";

/** Nodes that begin a scope of their own: their `await` and `var` are not the program's. */
const SCOPES = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression", "StaticBlock"]);

export interface Visit {
  readonly node: AnyNode;
  readonly parent: AnyNode | undefined;
  readonly inScope: boolean;
}

/** Every node of a program, without recursion: the depth of a stranger's program has no bound. */
export function* visits(program: Program): Generator<Visit> {
  const stack: Visit[] = [{ node: program, parent: undefined, inScope: false }];
  for (let visit = stack.pop(); visit; visit = stack.pop()) {
    yield visit;
    const inScope = visit.inScope || SCOPES.has(visit.node.type);
    for (const node of children(visit.node)) stack.push({ node, parent: visit.node, inScope });
  }
}

function children(node: AnyNode): AnyNode[] {
  const values: unknown[] = Object.values(node);
  return values.flatMap((value) => (Array.isArray(value) ? (value as unknown[]).filter(isNode) : isNode(value) ? [value] : []));
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string";
}

/** The names that a pattern such as `{ a, b: [c] }` declares. */
export function namesOf(pattern: Pattern | null): string[] {
  if (pattern?.type === "Identifier") return [pattern.name];
  if (pattern?.type === "AssignmentPattern") return namesOf(pattern.left);
  if (pattern?.type === "RestElement") return namesOf(pattern.argument);
  if (pattern?.type === "ArrayPattern") return pattern.elements.flatMap(namesOf);
  if (pattern?.type !== "ObjectPattern") return [];
  return pattern.properties.flatMap((property) => namesOf(property.type === "RestElement" ? property.argument : property.value));
}

/** An import as what it declares: local names, and what each takes of the module; `*` is the module itself. */
export function importedNames(node: ImportDeclaration): { readonly local: string; readonly imported: string }[] {
  return node.specifiers.map((specifier) => {
    if (specifier.type === "ImportDefaultSpecifier") return { local: specifier.local.name, imported: "default" };
    if (specifier.type === "ImportNamespaceSpecifier") return { local: specifier.local.name, imported: "*" };
    const { imported } = specifier;
    return { local: specifier.local.name, imported: imported.type === "Literal" ? String(imported.value) : imported.name };
  });
}
