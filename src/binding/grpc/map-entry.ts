import type { DescriptorProto, FileDescriptorProto } from "@bufbuild/protobuf/wkt";

/**
 * Gives the entry types of maps the names that the compiler gives them: `values` has `ValuesEntry`. proto-loader
 * calls it `Values`, and clients written in Go then refuse the whole file. Changes the file that it is given.
 */
export function nameMapEntries(file: FileDescriptorProto): FileDescriptorProto {
  for (const message of file.messageType) nameEntriesOf(message);
  return file;
}

function nameEntriesOf(message: DescriptorProto): void {
  for (const nested of message.nestedType) {
    nameEntriesOf(nested);
    if (nested.options?.mapEntry !== true) continue;
    const field = message.field.find((candidate) => lastName(candidate.typeName) === nested.name);
    if (field === undefined) continue;
    const name = `${pascalCase(field.name)}Entry`;
    field.typeName = field.typeName.slice(0, field.typeName.length - nested.name.length) + name;
    nested.name = name;
  }
}

function lastName(typeName: string): string {
  return typeName.slice(typeName.lastIndexOf(".") + 1);
}

function pascalCase(snake: string): string {
  return snake.replace(/(?:^|_)([a-z0-9])/g, (_, first: string) => first.toUpperCase());
}
