package text

import (
	"archive/tar"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// containers are the extensions of files that can contain several tensors.
var containers = []string{".npz", ".mat", ".h5", ".hdf5", ".h5ad", ".petsc", ".dat", ".tar",
	".tgz"}

// Split splits a path of the form FILE:NAME, which selects the tensor NAME of a file that can
// contain several tensors. The extension of FILE must be one of containers, and an extension for
// compression may follow it. For any other path, Split returns the path and "".
func Split(path string) (file, name string) {
	for i, c := range path {
		if c == ':' && slices.Contains(containers, unPackedExt(path[:i])) {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}

// unPackedExt returns the extension of path in lower case, after removing an extension for
// compression.
func unPackedExt(path string) string {
	return strings.ToLower(filepath.Ext(strings.TrimSuffix(filepath.Base(path), PackedExt(path))))
}

// Ext returns the extension of path in lower case, after removing an extension for compression. For
// example, it returns ".tns" for "b.TNS.gz" and for "-.tns". For "-", which is standard input or
// output, it also returns ".tns". For a tar archive it returns the extension of the member, which
// is ".mtx" if the path does not name a member. For any other path FILE:NAME, it returns the
// extension of FILE.
func Ext(path string) string {
	if Stdin(path) && !strings.HasPrefix(path, "-.") {
		return ".tns"
	}
	file, name := Split(path)
	switch {
	case IsTar(file) && name == "":
		return ".mtx"
	case IsTar(file):
		return unPackedExt(name)
	}
	return unPackedExt(file)
}

// IsTar reports whether path has the extension of a tar archive, which may be compressed.
func IsTar(path string) bool {
	ext := unPackedExt(path)
	return ext == ".tar" || ext == ".tgz"
}

// tarball selects a member of a tar archive.
type tarball struct {
	// name is the wanted member: its path in the archive, or the last part of its path.
	name string
	// guessed means that the user named no member. Then name is derived from the file's name, as
	// in the archives of the SuiteSparse Matrix Collection.
	guessed bool
}

func newTarball(file, member string) *tarball {
	if member != "" {
		return &tarball{name: member}
	}
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, PackedExt(base))
	return &tarball{name: strings.TrimSuffix(base, filepath.Ext(base)) + ".mtx", guessed: true}
}

// find returns a reader of the member in the archive w. If the member's name was guessed and the
// archive has no such member, but a single .mtx file, find selects that file.
func (t *tarball) find(w *wrapped) (io.Reader, error) {
	var others []string
	archive := tar.NewReader(w)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, w.s.wrap(err, "tar")
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if h.Name == t.name || path.Base(h.Name) == t.name {
			return archive, nil
		}
		if len(others) <= maxListed {
			others = append(others, h.Name)
		}
	}
	matrices := slices.DeleteFunc(slices.Clone(others), func(n string) bool {
		return path.Ext(n) != ".mtx"
	})
	if t.guessed && len(matrices) == 1 && len(others) <= maxListed {
		t.name, t.guessed = matrices[0], false
		w.close()
		again, err := w.s.decompressed()
		if err != nil {
			return nil, err
		}
		w.close = again.close
		return again.r, nil
	}
	return nil, NoMember(w.s.Name, t.name, others)
}

// maxListed is the largest number of names that an error message lists.
const maxListed = 8

// NoMember returns the error that the file has no tensor called name. names are the names of its
// tensors, which the error lists. If name is "", the error says that the path must name one of
// them.
func NoMember(file, name string, names []string) *Error {
	if len(names) == 0 {
		return Dataf(file, 0, 0, "the file contains no tensor")
	}
	list := slices.Clone(names[:min(len(names), maxListed)])
	for k := range list {
		list[k] = Clean(list[k])
	}
	if len(names) > maxListed {
		list = append(list, "...")
	}
	got := "the file has no " + Clean(name)
	if name == "" {
		got = "the file contains several tensors"
	}
	return Commandf(file, 0, 0, "%s; want FILE:NAME with one of the names %s", got,
		strings.Join(list, ", "))
}
