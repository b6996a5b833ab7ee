// Plugin of esbuild that makes the builds in dist/web smaller. They contain protobuf-es and the parts of Connect that they use.
// The plugin removes code that browsers never reach. It ends the build if a package no longer has the code to replace, so that
// a developer looks at the new release.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary, ScalarType, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

export const lean = {
  name: "lean",
  setup({ onResolve, onLoad }) {
    const edit = (filter, change) =>
      onLoad({ filter }, ({ path }) => ({ loader: "ts", contents: change(readFileSync(path, "utf8"), path) }));

    // Smaller modules replace those that are fast or that know sockets. The JSON of wire/ replaces the library's, because these
    // builds use no other.
    onResolve(
      { filter: /\/(?:library-json|binary-(?:reader|writer)|socket-failure|core\/lazy)\.js$/ },
      ({ resolveDir, path }) => ({
        path: join(resolveDir, path.replace(/\.js$/, "-web.ts")),
      }),
    );
    edit(/@bufbuild[\\/]protobuf[\\/].*[\\/](?:to|from)-json\.js$/, (source) =>
      [...source.matchAll(/^export function (\w+)/gm)].map(([, name]) => missing(name)).join("\n"),
    );

    edit(/@bufbuild[\\/]protobuf[\\/].*[\\/]descriptors\.js$/, withEnums);
    edit(/[\\/]binary-encoding\.js$/, (source, path) => replaced(path, withEnums(source, path), [[codecs, ""]]));
    edit(/[\\/]protobuf[\\/].*[\\/]to-binary\.js$/, (source, path) => replaced(path, source, [[codecCases, ""]]));
    // All runtimes of the build's target have BigInt.
    edit(/[\\/]proto-int64\.js$/, (source, path) =>
      replaced(path, source, [[/const ok = [\s\S]*?if \(ok\) \{([\s\S]*?)^ {4}\}\n[\s\S]*?^\}/gm, "$1}"]]),
    );
    edit(/[\\/]descriptor_pb\.js$/, (source, path) =>
      replaced(path, withEnums(source, path), [
        [/(?<=\/\*@__PURE__\*\/ boot\()\{.*\}(?=\);)/g, (json) => JSON.stringify(readDescriptors(JSON.parse(json)))],
      ]),
    );
    edit(/[\\/](?:gen|wkt)[\\/].*_pb\.[jt]s$/, (source) =>
      withText(source)
        .replace(
          /^export const ([A-Za-z]+)\w*Schema: \S+ = \/\*@__PURE__\*\/\s+messageDesc\(file_google_rpc_error_details, .*$/gm,
          (schema, type) => (details.has(type) ? schema : ""),
        )
        // The file of options that only generators read.
        .replace(/\bfile_google_api_client, /g, "")
        .replace(/^import \{ file_google_api_client \} from .*$/gm, ""),
    );
    edit(/[\\/]codegenv2[\\/]file\.js$/, (source, path) =>
      replaced(path, source, [
        [/^import \{ base64Decode \} from .*$/gm, ""],
        ["base64Decode(b64)", "Uint8Array.from(b64, (byte) => byte.charCodeAt(0))"],
      ]),
    );

    // Groups are of proto2.
    edit(/[\\/]protobuf[\\/].*[\\/]from-binary\.js$/, (source, path) =>
      replaced(path, source, [
        ["readGroup: compileGroupReader(descString, fieldReaders),", ""],
        [codecCases, ""],
      ]),
    );
    // None of the fields that descriptors are read with has options.
    edit(/[\\/]codegenv2[\\/]boot\.js$/, (source, path) =>
      replaced(path, source, [["init.options ? bootFieldOptions(init.options) : undefined", "undefined"]]),
    );
    // No proto here has defaults of its own.
    edit(/[\\/]protobuf[\\/].*[\\/]registry\.js$/, (source, path) =>
      replaced(path, source, [
        [/^ {4}\/\/ EDITION_2\d+$[\s\S]*?^ {4}\},$/gm, ""],
        [/^import \{ parseTextFormatEnumValue, .*$/gm, ""],
        [/unsafeIsSetExplicit\(proto, "defaultValue"\)\s*\? parseTextFormat\w+\(.*\)\s*: undefined/g, "undefined"],
      ]),
    );
    // Extensions are read, never set, and the message that one is read into needs no reflection for that.
    edit(/[\\/]protobuf[\\/].*[\\/]extensions\.js$/, (source, path) =>
      replaced(path, source, [
        [/^import \{ reflect \} from .*$/gm, `import { unsafeLocal } from "./reflect/unsafe.js";`],
        ["reflect(desc, container)", "({ [unsafeLocal]: container })"],
        [/^import \{ writeField \} from .*$/gm, ""],
        [/^export function setExtension\([\s\S]*?^\}$/gm, missing("setExtension")],
      ]),
    );
    edit(/[\\/]wkt[\\/]any\.js$/, (source, path) =>
      replaced(path, source, [
        [/^import \{ toBinary \} from .*$/gm, ""],
        [/^export function anyPack\([\s\S]*?^\}$/gm, missing("anyPack")],
      ]),
    );
  },
};

/** Types of fields that no proto here has. A file that has one cannot be used. */
const unusedTypes = ["FLOAT", "UINT64", "FIXED64", "FIXED32", "UINT32", "SFIXED32", "SFIXED64", "SINT32", "SINT64"];

const hasUnusedType = ({ field = [], nestedType = [] }) =>
  field.some(({ type }) => unusedTypes.includes(ScalarType[type])) || nestedType.some(hasUnusedType);

/** Methods that read or write values of these types. Lengths and tags are of type uint32, and so read or written always. */
const codecs = new RegExp(
  `^ {4}/\\*\\*\\n(?: {5}\\*.*\\n)+ {4}(?:${unusedTypes
    .filter((type) => type !== "UINT32")
    .join("|")
    .toLowerCase()})\\(\\w*\\) \\{[\\s\\S]*?^ {4}\\}$`,
  "gm",
);

/** Cases of a `switch` that choose such a method. */
const codecCases = new RegExp(
  `^ +case ScalarType\\.(?:${unusedTypes.join("|")}):\\n(?: +if \\(longAsString\\) \\{\\n.*\\n +\\}\\n)? +return \\(.*;$`,
  "gm",
);

/** Replaces texts of a source. @throws Error if the source does not contain one of them */
function replaced(path, source, replacements) {
  let text = source;
  for (const [from, to] of replacements) {
    const next = text.replaceAll(from, to);
    if (next === text) throw new Error(`${path} has no ${from} any more.`);
    text = next;
  }
  return text;
}

/** Returns the replacement of a function that the builds never call. */
function missing(name) {
  return `export function ${name}() { throw new Error("This build has no ${name}."); }`;
}

/** Returns the source with enums of TypeScript. esbuild replaces their names by their values, and drops the enums. */
function withEnums(source, path) {
  const compiled = /^export var (\w+);\s*\(function \(\1\) \{([\s\S]*?)^\}\)\(\1 \|\| \(\1 = \{\}\)\);/gm;
  const written = (_, name, body) => {
    const values = [...body.matchAll(/\["(\w+)"\] = (-?\d+)\]/g)].map(([, member, value]) => `${member} = ${value}`);
    return `export enum ${name} { ${values.join(", ")} }`;
  };
  return replaced(path, source, [[compiled, written]]);
}

/**
 * Fields of google/protobuf/descriptor.proto that running programs never read. Only compilers read them, or they are features of
 * editions, which protos of proto3 do not have. A descriptor keeps their values as unknown fields.
 */
const unread = new Set([
  ...["public_dependency", "weak_dependency", "option_dependency", "source_code_info"],
  ...["extension_range", "reserved_range", "reserved_name", "visibility"],
]);
const readOptions = new Set(["deprecated", "map_entry", "packed", "jstype", "idempotency_level"]);

/** Returns the descriptors of descriptors without those fields and the types that only they use. Each message keeps its place. */
function readDescriptors({ messageType, enumType, ...file }) {
  const fieldsOf = ({ name, field = [] }) =>
    field.filter((field) => (name.endsWith("Options") ? readOptions.has(field.name) : !unread.has(field.name)));
  const used = new Set(["google.protobuf.FileDescriptorProto"]);
  for (const name of used) {
    const message = messageType.find((type) => `google.protobuf.${type.name}` === name);
    for (const { typeName } of message === undefined ? [] : fieldsOf(message)) used.add(typeName?.slice(1));
  }
  return {
    ...file,
    messageType: messageType.map((message) => {
      const { name, enumType = [] } = message;
      if (!used.has(`google.protobuf.${name}`)) return { name };
      const enums = enumType.filter((type) => used.has(`google.protobuf.${name}.${type.name}`));
      return { name, field: fieldsOf(message).map(withoutZero), enumType: enums };
    }),
    enumType: enumType.filter(({ name }) => used.has(`google.protobuf.${name}`)),
  };
}

/** Returns a field without the values that `boot` adds, and without a default that is false or the first value of its enum. */
function withoutZero({ label, defaultValue, options, ...field }) {
  if (options !== undefined || hasUnusedType({ field: [field] }))
    throw new Error(`${field.name} has options, or a type that cannot be read.`);
  if (!["false", "JS_NORMAL", "IDEMPOTENCY_UNKNOWN", undefined].includes(defaultValue))
    throw new Error(`The default ${defaultValue} of ${field.name} is not zero.`);
  return label === 1 ? field : { ...field, label };
}

/** Details of errors that the builds read or write. The descriptor keeps the place of others, and importing one ends the build. */
const details = new Set(["ErrorInfo", "RetryInfo", "BadRequest", "RequestInfo"]);
const isUnused = (file, type) => file.name === "google/rpc/error_details.proto" && !details.has(type);

/** `google.api.method_signature`, which only generators read. */
const METHOD_SIGNATURE = 1051;

/**
 * Returns a generated file of a proto with its descriptor as text, one character a byte, because base64 compresses worse. It drops
 * options of files, which only generators read. A file of another syntax, or with fields of unused types, throws when it is loaded.
 */
function withText(source) {
  return source.replace(/\bfileDesc\("([\w+/=]+)"/g, (_, base64) => {
    const file = fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, "base64"));
    if (file.syntax !== "proto3" || file.messageType.some(hasUnusedType))
      return `(() => { throw new Error("This build has no ${file.name}."); })(""`;
    delete file.options;
    for (const type of file.messageType.filter(({ name }) => isUnused(file, name))) {
      Object.assign(type, { field: [], nestedType: [] });
    }
    for (const { options } of file.service.flatMap(({ method }) => method)) {
      if (options?.$unknown) options.$unknown = options.$unknown.filter(({ no }) => no !== METHOD_SIGNATURE);
    }
    const bytes = Buffer.from(toBinary(FileDescriptorProtoSchema, file));
    return `fileDesc(${JSON.stringify(bytes.toString("latin1"))}`;
  });
}
