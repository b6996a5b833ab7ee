import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import type { DescriptorProto, FileDescriptorProto } from "@bufbuild/protobuf/wkt";

/**
 * Gives the types of fields and methods their full names, and fields their names in JSON, which the compiler does and
 * proto-loader does not. A type's name is looked for where it is used, then further out. Changes the file that it is given; names of other files stay as they are.
 */
export function qualifyNames(file: FileDescriptorProto): FileDescriptorProto {
  const known = new Set<string>();
  const scope = file.package === "" ? "" : `.${file.package}`;
  for (const message of file.messageType) collect(message, scope, known);
  for (const { name } of file.enumType) known.add(`${scope}.${name}`);
  for (const message of file.messageType) qualifyFields(message, scope, known);
  for (const service of file.service) {
    for (const method of service.method) {
      method.inputType = qualified(method.inputType, scope, known);
      method.outputType = qualified(method.outputType, scope, known);
    }
  }
  return file;
}

function collect(message: DescriptorProto, scope: string, known: Set<string>): void {
  const name = `${scope}.${message.name}`;
  known.add(name);
  for (const nested of message.nestedType) collect(nested, name, known);
  for (const nested of message.enumType) known.add(`${name}.${nested.name}`);
}

function qualifyFields(message: DescriptorProto, scope: string, known: ReadonlySet<string>): void {
  const name = `${scope}.${message.name}`;
  for (const field of message.field) {
    if (field.typeName !== "") field.typeName = qualified(field.typeName, name, known);
    if (field.jsonName === "") field.jsonName = protoCamelCase(field.name);
  }
  for (const nested of message.nestedType) qualifyFields(nested, name, known);
}

function qualified(name: string, scope: string, known: ReadonlySet<string>): string {
  if (name.startsWith(".")) return name;
  for (let at = scope; ; at = at.slice(0, at.lastIndexOf("."))) {
    if (known.has(`${at}.${name}`)) return `${at}.${name}`;
    if (at === "") return name;
  }
}
