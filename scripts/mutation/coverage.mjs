/** Which parts of a source a test runs: its text with counters, and the counter that stands for a place in it. */
import { parseSync } from "vite";

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);
/** Where a statement may stand alone, without a block. */
const ALONE = ["consequent", "alternate", "body"];
const UNCOUNTED = /^TS|^(?:FunctionDeclaration|ClassDeclaration|EmptyStatement|BlockStatement)$/;

/** The counters of a source: number 0 is the module, which runs when it is loaded, the others are functions and statements in functions. */
function countersOf(path, text) {
  const counters = [{ start: 0, end: text.length }];
  const insertions = [];
  const enter = ({ start, end }) => counters.push({ start, end }) - 1;
  const insert = (at, inserted) => insertions.push({ at, inserted });
  /** Opening texts are inserted on the way down and closing ones on the way up: so they nest. */
  const visit = (node, parent, key) => {
    const close = open(node, parent, key);
    for (const [name, value] of Object.entries(node))
      for (const child of [value].flat()) if (typeof child?.type === "string") visit(child, node, name);
    if (close) insert(node.end, close);
  };
  const open = (node, parent, key) => {
    if (FUNCTIONS.has(node.type) && node.body?.type === "BlockStatement") insert(node.body.start + 1, `hits__[${enter(node)}]=1;`);
    if (parent?.type === "ArrowFunctionExpression" && key === "body" && parent.expression) {
      insert(node.start, `(hits__[${enter(parent)}]=1,`);
      return ")";
    }
    if (UNCOUNTED.test(node.type) || !/Statement$|^VariableDeclaration$/.test(node.type)) return undefined;
    if ((parent.type === "BlockStatement" && key === "body") || (parent.type === "SwitchCase" && key === "consequent"))
      insert(node.start, `hits__[${enter(node)}]=1;`);
    else if (parent.type.endsWith("Statement") && ALONE.includes(key)) {
      insert(node.start, `{hits__[${enter(node)}]=1;`);
      return "}";
    }
    return undefined;
  };
  visit(parseSync(path, text).program);
  return { counters, insertions: insertions.toSorted((one, other) => one.at - other.at) };
}

/** The text with its counters, which `coverage-setup.mjs` reads. */
export function withCounters(path, text) {
  const { counters, insertions } = countersOf(path, text);
  const parts = [`const hits__ = globalThis.countersOf(${JSON.stringify(path)}, ${counters.length}); hits__[0]=1;`];
  let from = 0;
  for (const { at, inserted } of insertions) {
    parts.push(text.slice(from, at), inserted);
    from = at;
  }
  return [...parts, text.slice(from)].join("");
}

/** A function that gives the number of the innermost counter around a mutant. */
export function createCounterOf(path, text) {
  const { counters } = countersOf(path, text);
  return ({ start, end }) => counters.findLastIndex((counter) => counter.start <= start && end <= counter.end);
}
