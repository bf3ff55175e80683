// Package dirstore keeps encrypted files in an ordinary directory tree, the
// cipher directory: one lower object for each object, with encoded names and a
// header of 128 bytes before each file's data units and in each directory. It
// implements store.Store, store.Writer and store.XattrWriter. It moves ciphertext
// and never sees a key; what it authenticates, it authenticates through the
// Authenticator that its caller gives it.
//
// "Lower" is what lies in the cipher directory: lower name, lower size. All
// access goes by descriptors of directories and names in them that are not
// followed if they are symbolic links, so that nobody who changes the tree
// meanwhile can lead it outside.
package dirstore
