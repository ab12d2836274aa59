export type SourceFile = { path: string; source: string; dependencies?: string[] }

/** A file as the rules see it: without comments, and with its imports. */
export type Code = SourceFile & {
  imports: string[]
  owner: string
  /** The path inside its package: `http/server.ts`. */
  inside: string
  /** Not production code: tests, test support and tools. */
  isTest: boolean
}

export type Rule = { name: string; broken(files: Code[]): string[] }

/** `path: finding` for everything in these files that breaks the rule. */
export function violations(rule: Rule, files: SourceFile[]): string[] {
  return rule.broken(files.map(read))
}

export function perFile(name: string, broken: (file: Code) => string[]): Rule {
  return {
    name,
    broken: (files) =>
      files.flatMap((file) => broken(file).map((finding) => `${file.path}: ${finding}`)),
  }
}

/** A rule about production code, not about tests. */
export function perSource(name: string, broken: (file: Code) => string[]): Rule {
  return perFile(name, (file) => (file.isTest ? [] : broken(file)))
}

export function matches({ source }: Code, pattern: RegExp): string[] {
  return [...source.matchAll(new RegExp(pattern, `g${pattern.flags}`))].map((found) =>
    found[0].trim(),
  )
}

/** The names that a file imports from the modules that match. */
export function importedNames({ source }: Code, module: RegExp) {
  return [...source.matchAll(/\bimport\s+(type\s+)?\{([^}]*)\}\s+from\s+'([^']+)'/g)]
    .filter(([, , , from = '']) => module.test(from))
    .flatMap(([, allTypes, names = '', from = '']) =>
      names
        .split(',')
        .map((text) => text.trim())
        .filter(Boolean)
        .map((text) => ({
          name: text.replace(/^type\s+/, '').replace(/\s+as\s+.*/, ''),
          isType: allTypes !== undefined || text.startsWith('type '),
          from,
        })),
    )
}

export function resolve(from: string, relative: string): string {
  return new URL(relative, `file:///${from}`).pathname.slice(1)
}

export function read(file: SourceFile): Code {
  const code = withoutComments(file.source)
  return {
    ...file,
    source: code,
    imports: [...code.matchAll(/\bfrom\s+'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g)].map(
      (found) => found[1] ?? found[2] ?? '',
    ),
    ...placeOf(file.path),
  }
}

/** Where production code is: below `src`, except in the packages whose folder is all of it. */
const SOURCE =
  /^(?:(?:packages|services)\/(?<package>[^/]+)\/src|packages\/(?<console>console)|(?<folder>cli|launcher|release))\/(?<inside>.*)$/
/** `release` has a test of the image, which is no part of the package. */
const TEST = /\.test\.ts$|(^|\/)test\/|^(test-image|compose)\.ts$/

/** The package, or the top-level folder, that a file belongs to, and its path there. */
export function placeOf(path: string): Pick<Code, 'owner' | 'inside' | 'isTest'> {
  const { package: name, console, folder, inside = '' } = SOURCE.exec(path)?.groups ?? {}
  const owner = name ?? console ?? folder
  if (owner !== undefined) return { owner, inside, isTest: TEST.test(inside) }
  const [first = '', second = ''] = path.split('/')
  return { owner: /^(packages|services)$/.test(first) ? second : first, inside, isTest: true }
}

// Keeps line breaks, so that line counts stay correct.
function withoutComments(source: string): string {
  return source
    .replace(/^\s*\/\*[\s\S]*?\*\//gm, (comment) => comment.replace(/[^\n]/g, ''))
    .replace(/(^|\s)\/\/ .*$/gm, '')
}
