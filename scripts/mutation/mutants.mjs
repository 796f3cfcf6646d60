/** The mutants of a source: each one small change that a test ought to notice. */
import { parseSync } from "vite";

const SWAPPED = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&&": "||",
  "||": "&&",
};
const OTHER_METHOD = {
  some: "every",
  every: "some",
  min: "max",
  max: "min",
  startsWith: "endsWith",
  endsWith: "startsWith",
  has: "delete",
  shift: "pop",
  floor: "ceil",
  ceil: "floor",
};
/** Calls that give back the thing they were called on, changed or cut. */
const DROPPED_METHODS = new Set(["filter", "slice", "toSorted", "toReversed", "trim", "toLowerCase", "flatMap"]);

/** One mutator a node type: the changes of that node, as `[start, end, replacement]` of the text. */
const MUTATORS = {
  BinaryExpression: swapOperator,
  LogicalExpression: swapOperator,
  UnaryExpression: ({ operator, start, argument }) => (operator === "!" ? [[start, argument.start, ""]] : []),
  IfStatement: ({ test }) => constants(test),
  ConditionalExpression: ({ test }) => constants(test),
  WhileStatement: ({ test }) => [[test.start, test.end, "false"]],
  Literal: mutateLiteral,
  ArrayExpression: ({ start, end, elements }) => (elements.length > 0 ? [[start, end, "[]"]] : []),
  ExpressionStatement: ({ start, end, expression, directive }) => (directive || !isAction(expression) ? [] : [[start, end, ";"]]),
  ReturnStatement: ({ argument }) => (argument ? answers(argument) : []),
  ThrowStatement: ({ start, end }) => [[start, end, ";"]],
  CallExpression: mutateCall,
  ArrowFunctionExpression: ({ body, expression }) => (expression ? answers(body) : []),
  SpreadElement: ({ start, end, parent }) => (parent.type === "ObjectExpression" ? [[start, end, "...{}"]] : []),
};

/** Types are erased, and texts for people are judged by people. */
const IGNORED = new Set(["ImportDeclaration", "ExportAllDeclaration", "TSTypeAliasDeclaration", "TSInterfaceDeclaration"]);
const SPEAKERS = new Set(["BelljarError", "TypeError", "Error", "report", "describe"]);
const SPOKEN_KEYS = new Set(["detail", "remedy", "summary", "description", "title"]);
/** Three words or more, and nothing that a protocol or a shell would read. */
const SENTENCE = /^[\w,.'"()/]+(?: [\w,.'"()/]+){2,}$/;
/** From here on a number is a size or a time: one more changes nothing that anybody can see, ten times as much does. */
const LARGE = 64;

/** In the order in which they stand in the text. Throws for a text that does not parse. */
export function mutantsOf(path, text) {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0].message}`);
  const found = [];
  walk(program, undefined, (node) => {
    for (const [start, end, replacement] of MUTATORS[node.type]?.(node, text) ?? [])
      if (text.slice(start, end) !== replacement) found.push({ path, start, end, replacement });
  });
  return found;
}

/** The whole text with the one change. */
export function applyMutant(text, { start, end, replacement }) {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** As a person reads it: the line, what stood there, what stands there now. */
export function describeMutant(text, { path, start, end, replacement }) {
  const line = text.slice(0, start).split("\n").length;
  const short = (part) => part.replaceAll(/\s+/g, " ").slice(0, 80);
  return `${path}:${line}: ${short(text.slice(start, end)) || "(nothing)"} -> ${short(replacement) || "(nothing)"}`;
}

function walk(node, parent, visit) {
  if (IGNORED.has(node.type) || (node.type.startsWith("TS") && !node.expression)) return;
  node.parent = parent;
  visit(node);
  for (const [key, value] of Object.entries(node)) {
    if (key === "parent" || key === "typeAnnotation" || key === "returnType" || key === "typeArguments" || key === "typeParameters")
      continue;
    for (const child of [value].flat()) if (typeof child?.type === "string") walk(child, node, visit);
  }
}

function swapOperator({ operator, left, right }, text) {
  if (operator === "??") return [[left.end, right.end, ""]];
  const other = SWAPPED[operator];
  if (other === undefined) return [];
  const at = text.indexOf(operator, left.end);
  return at < 0 || at >= right.start ? [] : [[at, at + operator.length, other]];
}

function constants({ start, end }) {
  return [
    [start, end, "true"],
    [start, end, "false"],
  ];
}

/** A truth value is a literal, and changed as one. To a caller that asks for the truth, `undefined` is `false`. */
function answers({ start, end, value }) {
  return typeof value === "boolean" ? [] : [[start, end, "undefined"]];
}

function mutateLiteral({ start, end, value, parent, regex }) {
  if (typeof value === "boolean") return [[start, end, String(!value)]];
  if (typeof value === "number") return [[start, end, value < LARGE ? String(value + 1) : String(value * 10)]];
  if (typeof value !== "string" || regex || value === "" || isName(parent, start) || isSpoken(parent, value)) return [];
  return [[start, end, '""']];
}

/** A key, a type's word, or the source of an import. */
function isName(parent, start) {
  return (parent.key?.start === start && !parent.computed) || parent.source?.start === start || parent.type === "ImportExpression";
}

function isSpoken(node, text) {
  if (SENTENCE.test(text) || SPOKEN_KEYS.has(node.key?.name)) return true;
  for (let at = node; at; at = at.parent) {
    const callee = at.callee?.property?.name ?? at.callee?.name;
    if (callee !== undefined && SPEAKERS.has(callee)) return true;
    if (at.type.endsWith("Statement")) return false;
  }
  return false;
}

/** A timer or a server that keeps the process alive is no fault that a test in the same process can see. */
function isAction({ type, argument, callee }) {
  if (callee?.property?.name === "unref") return false;
  return (
    type === "CallExpression" ||
    type === "AssignmentExpression" ||
    type === "UpdateExpression" ||
    (type === "AwaitExpression" && argument.type === "CallExpression")
  );
}

function mutateCall({ callee, end }) {
  if (callee.type !== "MemberExpression" || callee.computed) return [];
  const { name, start } = callee.property;
  if (DROPPED_METHODS.has(name)) return [[callee.object.end, end, ""]];
  return Object.hasOwn(OTHER_METHOD, name) ? [[start, callee.property.end, OTHER_METHOD[name]]] : [];
}
